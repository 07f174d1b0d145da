-- A system's traffic answers of a window: what they stand for, what was done, by which versions, and
-- what kind of input it was. An answer without any claim row was not split yet.
select
    t.run_id,
    t.item_id,
    t.sample,
    t.inclusion_probability,
    d.action,
    r.model,
    r.prompt_ver,
    r.retriever_ver,
    length(e.query) as question_length,
    a.context_count,
    t.conversation,
    e.query_type,
    e.domain,
    e.stakes,
    exists (
        select 1
        from claims as c
        where c.run_id = t.run_id and c.item_id = t.item_id and c.sample = t.sample
    ) as is_split
from traffic_answers as t
join runs as r on r.run_id = t.run_id
join eval_items as e on e.item_id = t.item_id
join answers as a on a.run_id = t.run_id and a.item_id = t.item_id and a.sample = t.sample
left join deciding_actions as d
    on d.run_id = t.run_id and d.item_id = t.item_id and d.sample = t.sample
where t.system = :system and t.answered_at >= :start and t.answered_at < :until
    and a.answer_text is not null
order by t.run_id, t.item_id, t.sample
