-- One row per answer of a run: what is left for a labeler to do with it.
-- failed: the system said nothing. abstained: it declined to answer, which is no claim.
-- empty: nothing in it states anything. open: not split into claims yet, or a claim that states
-- something lacks the labeler's label since :since. done: the rest, and what has lost its text.
select
    a.item_id,
    a.sample,
    case
        when a.answer_text is null then 'failed'
        when exists (
            select 1
            from traffic_answers as t
            where t.run_id = a.run_id
                and t.item_id = a.item_id
                and t.sample = a.sample
                and t.text_deleted_at is not null
        ) then 'done'
        when not exists (
            select 1
            from claims as c
            where c.run_id = a.run_id and c.item_id = a.item_id and c.sample = a.sample
        ) then case when r.action <> 'answer' then 'abstained' else 'open' end
        when not exists (
            select 1
            from claims as c
            where c.run_id = a.run_id
                and c.item_id = a.item_id
                and c.sample = a.sample
                and c.claim_type <> 'non_factual'
        ) then 'empty'
        when exists (
            select 1
            from claims as c
            where c.run_id = a.run_id
                and c.item_id = a.item_id
                and c.sample = a.sample
                and c.claim_type <> 'non_factual'
                and not exists (
                    select 1
                    from {standing_labels} as l
                    where l.run_id = c.run_id
                        and l.item_id = c.item_id
                        and l.claim_id = c.claim_id
                        and l.labeler = :labeler
                        and l.labeled_at >= :since
                )
        ) then 'open'
        else 'done'
    end as state
from answers as a
left join run_actions as r
    on r.run_id = a.run_id and r.item_id = a.item_id and r.sample = a.sample
where a.run_id = :run_id
order by a.item_id, a.sample
