delete from sessions where account = :account
