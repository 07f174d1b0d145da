delete from login_failures where account = :account
