update invites set used_at = :now where account = :account and used_at is null
