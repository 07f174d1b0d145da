-- What claim_index contains for every claim: its deciding verdict, or why it has none; its place in a
-- list, worst and most certain first, with closed-book verdicts after all others; and whether people
-- disagree on it (1), a judge disagrees with people (2), or both (3).
-- Statements that make no claim are left out unless someone labelled them. Closed-book, claims that nobody
-- was asked about are left out too.
select
    c.run_id,
    c.item_id,
    c.claim_id,
    '{judgement}' as judgement,
    case when '{judgement}' = 'grounded' then 0 else 100000 end + 5000 * ({severity})
    + cast(round(1000 * (3 + {doubt})) as integer) as claim_rank,
    d.verdict,
    case when d.verdict is null then coalesce(
        (
            select u.reason
            from unscored_claims as u
            where u.run_id = c.run_id
                and u.item_id = c.item_id
                and u.claim_id = c.claim_id
                and u.judgement = '{judgement}'
            order by u.failed_at desc, u.labeler
            limit 1
        ), 'not_judged'
    ) end as unscored,
    d.labeler,
    d.source_id,
    case when d.label_kind = 'human' and exists (
        select 1
        from {standing_labels} as v
        where v.run_id = c.run_id
            and v.item_id = c.item_id
            and v.claim_id = c.claim_id
            and v.label_kind = 'human'
            and v.{verdict} <> d.verdict
            and {no_later_label}
    ) then 1 else 0 end
    + case when d.label_kind <> 'verifier' and exists (
        select 1
        from {standing_labels} as v
        where v.run_id = c.run_id
            and v.item_id = c.item_id
            and v.claim_id = c.claim_id
            and v.label_kind = 'verifier'
            and v.{verdict} <> d.verdict
            and {no_later_label}
    ) then 2 else 0 end as dispute
from claims as c
left join (
    select
        v.run_id,
        v.item_id,
        v.claim_id,
        v.{verdict} as verdict,
        v.label_kind,
        v.labeler,
        {confidence} as confidence,
        {source_id} as source_id
    from {deciding_labels} as v
) as d on d.run_id = c.run_id and d.item_id = c.item_id and d.claim_id = c.claim_id
where d.verdict is not null
    or ('{judgement}' = 'grounded' and c.claim_type <> 'non_factual')
    or ('{judgement}' = 'closed_book' and exists (
        select 1
        from unscored_claims as u
        where u.run_id = c.run_id
            and u.item_id = c.item_id
            and u.claim_id = c.claim_id
            and u.judgement = 'closed_book'
    ))
