insert into sessions (token_hash, account, csrf_token, created_at, expires_at)
values (:token_hash, :account, :csrf_token, :now, :expires_at)
