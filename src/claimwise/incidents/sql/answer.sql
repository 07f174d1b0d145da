-- The answers that a name RUN/ITEM or RUN/ITEM/SAMPLE means; ids may hold slashes themselves.
select a.run_id, a.item_id, a.sample, a.answer_text, a.context_count
from answers as a
where a.run_id || '/' || a.item_id || '/' || cast(a.sample as text) = :name
    or (a.run_id || '/' || a.item_id = :name and a.sample = 0)
order by a.run_id, a.item_id, a.sample
