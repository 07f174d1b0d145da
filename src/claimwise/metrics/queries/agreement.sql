-- On how many claims of an item a judge gave people's verdict, in every run of the store that both
-- labelled; the judge's latest verdict counts.
-- "cross join" has SQLite begin with people's labels, which are few: begun with the judges', every
-- label of the store is looked up.
select
    v.labeler,
    v.run_id,
    v.item_id,
    sum(case when v.{verdict} = d.{verdict} then 1 else 0 end) as agreed,
    count(*) as compared
from {deciding_labels} as d
cross join {standing_labels} as v
where d.label_kind <> 'verifier'
    and v.run_id = d.run_id
    and v.item_id = d.item_id
    and v.claim_id = d.claim_id
    and v.label_kind = 'verifier'
    and not exists (
        select 1
        from {standing_labels} as n
        where n.run_id = v.run_id
            and n.item_id = v.item_id
            and n.claim_id = v.claim_id
            and n.labeler = v.labeler
            and n.labeled_at > v.labeled_at
    )
group by v.labeler, v.run_id, v.item_id
order by v.labeler, v.run_id, v.item_id
