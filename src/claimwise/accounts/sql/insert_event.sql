insert into audit_events (event_id, happened_at, account, event, subject, detail)
values (:event_id, :now, :account, :event, :subject, :detail)
