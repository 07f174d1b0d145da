select account, role, created_at, disabled_at from accounts order by account
