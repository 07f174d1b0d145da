select account, role, created_at, disabled_at, password_hash from accounts where account = :account
