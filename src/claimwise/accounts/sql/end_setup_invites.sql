update invites set used_at = :now where invited_by = :invited_by and used_at is null
