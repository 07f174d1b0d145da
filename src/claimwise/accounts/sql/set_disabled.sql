update accounts set disabled_at = :disabled_at where account = :account
