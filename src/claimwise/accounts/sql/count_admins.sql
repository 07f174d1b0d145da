select count(*) from accounts where role = 'admin' and disabled_at is null and account <> :account
