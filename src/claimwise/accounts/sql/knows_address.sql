select 1
from audit_events
where account = :account and event = 'login' and detail = :address and happened_at > :since
limit 1
