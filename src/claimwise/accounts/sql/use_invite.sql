update invites set used_at = :now
where token_hash = :token_hash and used_at is null and expires_at > :now
