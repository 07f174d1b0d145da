-- A key that holds at a moment, by its hash.
select key_id, name, scopes, requests_per_minute, created_by, created_at, expires_at, revoked_at
from api_keys
where key_hash = :key_hash
    and revoked_at is null
    and (expires_at is null or expires_at > :now)
