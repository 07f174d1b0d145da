update accounts set password_hash = :password_hash where account = :account
