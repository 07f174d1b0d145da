update sessions set expires_at = :expires_at where token_hash = :token_hash
