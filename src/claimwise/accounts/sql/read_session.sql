select a.account, a.role, a.created_at, s.csrf_token, s.created_at, s.expires_at
from sessions as s
join accounts as a on a.account = s.account
where s.token_hash = :token_hash and s.expires_at > :now and a.disabled_at is null
