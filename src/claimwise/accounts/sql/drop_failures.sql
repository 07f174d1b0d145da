delete from login_failures where account = :account and address = :address
