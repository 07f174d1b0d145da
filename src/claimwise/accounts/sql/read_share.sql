-- A link that still holds, by the hash of its token.
select link_id, system, baseline, note, created_by, created_at, expires_at, revoked_at
from share_links
where token_hash = :token_hash and revoked_at is null and expires_at > :now
