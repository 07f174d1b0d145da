-- All keys, without their hashes.
select key_id, name, scopes, requests_per_minute, created_by, created_at, expires_at, revoked_at
from api_keys
order by created_at, key_id
