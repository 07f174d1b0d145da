insert into accounts (account, role, password_hash, created_at)
values (:account, :role, :password_hash, :now)
