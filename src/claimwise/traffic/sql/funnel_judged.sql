-- What became of the answers that are stored: one row per system, rule and state. Open: not split into
-- claims yet, or a claim waits for a judge. No claims: it states nothing, or the system failed. The others
-- are judged: scored in every claim, in some, or in none. Expired: its text was deleted before anyone
-- judged it.
select s.system, s.rule, s.state, count(*) as answers
from (
    select
        t.system,
        t.rule,
        case
            when a.answer_text is null then 'failed'
            when count(c.claim_id) = 0 and t.text_deleted_at is not null then 'expired'
            when count(c.claim_id) = 0 then 'open'
            when count(i.claim_no) = 0 then 'no_claims'
            when sum(case when i.verdict is null and i.unscored = 'not_judged' then 1 else 0 end) > 0 then 'open'
            when sum(case when i.verdict is null then 1 else 0 end) = 0 then 'scored'
            when sum(case when i.verdict is null then 0 else 1 end) = 0 then 'unscored'
            else 'partly_scored'
        end as state
    from traffic_answers as t
    join answers as a on a.run_id = t.run_id and a.item_id = t.item_id and a.sample = t.sample
    left join claims as c on c.run_id = t.run_id and c.item_id = t.item_id and c.sample = t.sample
    left join claim_index as i
        on i.item_id = c.item_id
        and i.run_id = c.run_id
        and i.claim_id = c.claim_id
        and i.judgement = 'grounded'
    where t.answered_at >= :first and t.answered_at < :after
    group by t.system, t.rule, t.run_id, t.item_id, t.sample, t.text_deleted_at, a.answer_text
) as s
group by s.system, s.rule, s.state
order by s.system, s.rule, s.state
