select role, account, invited_by, expires_at
from invites
where token_hash = :token_hash and used_at is null and expires_at > :now
