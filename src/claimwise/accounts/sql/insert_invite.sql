insert into invites (token_hash, role, account, invited_by, created_at, expires_at)
values (:token_hash, :role, :account, :invited_by, :now, :expires_at)
