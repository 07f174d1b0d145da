-- People's labels of answers that were given before a window: how many, and the latest.
select count(*), max(h.labeled_at)
from standing_labels as h
join traffic_answers as t on t.run_id = h.run_id and t.item_id = h.item_id
where h.label_kind <> 'verifier'
    and t.answered_at < :start
    and (:system = '' or t.system = :system)
