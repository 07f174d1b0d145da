select event_id, happened_at, account, event, subject, detail
from audit_events
where (cast(:account as text) is null or account = :account)
  and (cast(:event as text) is null or event = :event)
  and (
    cast(:before as text) is null
    or happened_at < :before_time
    or (happened_at = :before_time and event_id < :before)
  )
order by happened_at desc, event_id desc
limit :limit
