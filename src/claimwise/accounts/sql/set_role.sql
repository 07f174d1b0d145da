update accounts set role = :role where account = :account
