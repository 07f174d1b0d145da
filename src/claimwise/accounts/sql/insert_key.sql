-- Adds a program's key.
insert into api_keys (
    key_id, key_hash, name, scopes, requests_per_minute, created_by, created_at, expires_at
)
values (
    :key_id, :key_hash, :name, :scopes, :requests_per_minute, :created_by, :created_at, :expires_at
)
