insert into login_failures (failure_id, account, address, failed_at)
values (:failure_id, :account, :address, :now)
