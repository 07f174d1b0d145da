-- What waits for annotators, the most urgent first. Spans that have come in by another way, and
-- claims that a person has labelled since, wait no more.
select q.*
from annotation_queue as q
where q.done_at is null
    and not (q.task = 'gold_spans' and exists (
        select 1 from gold_spans as g where g.item_id = q.item_id
    ))
    and not (q.task = 'label' and exists (
        select 1
        from standing_labels as l
        where l.run_id = q.run_id
            and l.item_id = q.item_id
            and l.claim_id = q.claim_id
            and l.label_kind in ('adjudicated', 'human')
    ))
order by q.priority desc, q.added_at, q.entry_id
