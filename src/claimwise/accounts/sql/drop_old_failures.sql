delete from login_failures where failed_at <= :before
