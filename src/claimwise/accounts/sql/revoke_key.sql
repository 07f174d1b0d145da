-- Ends the keys of a name, or the one with that id.
update api_keys set revoked_at = :now where (name = :name or key_id = :name) and revoked_at is null
