select role, account, invited_by, expires_at
from invites
where used_at is null and expires_at > :now
order by expires_at, token_hash
