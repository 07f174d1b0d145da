-- Claims of the index by their numbers, with what a list shows beside them.
select
    m.claim_no,
    m.claim_rank,
    m.run_id,
    m.item_id,
    c.sample,
    m.claim_id,
    m.judgement,
    c.claim_text,
    e.query as question,
    m.verdict,
    m.unscored,
    m.labeler,
    m.source_id,
    s.title as source_title,
    m.dispute
from claim_index as m
join claims as c on c.run_id = m.run_id and c.item_id = m.item_id and c.claim_id = m.claim_id
join eval_items as e on e.item_id = m.item_id
join runs as r on r.run_id = m.run_id
left join sources as s on s.source_id = m.source_id and s.corpus_ver = r.corpus_ver
where m.claim_no in ({numbers})
order by m.claim_rank, m.claim_no
