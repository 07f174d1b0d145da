-- Adds every claim of a store to an empty index, in the order of their answers.
/*sqlite
insert into claim_index (
    run_id, item_id, claim_id, judgement, claim_rank, verdict, unscored, labeler, source_id, dispute
)
select
    n.run_id, n.item_id, n.claim_id, n.judgement, n.claim_rank, n.verdict, n.unscored, n.labeler,
    n.source_id, n.dispute
from indexed_claims as n
join claims as c on c.run_id = n.run_id and c.item_id = n.item_id and c.claim_id = n.claim_id
order by n.run_id, n.item_id, c.sample, c.position, n.claim_id, n.judgement;
*/
-- Claim by claim, as the triggers do; the index of words is made at once when all are there.
/*postgresql
set local jit to off;
set local enable_seqscan to off;
drop index claim_words_by_word;
insert into claim_index (
    run_id, item_id, claim_id, judgement, claim_rank, verdict, unscored, labeler, source_id, dispute
)
select
    n.run_id, n.item_id, n.claim_id, n.judgement, n.claim_rank, n.verdict, n.unscored, n.labeler,
    n.source_id, n.dispute
from (
    select run_id, item_id, claim_id from claims order by run_id, item_id, sample, position, claim_id
) as c
cross join lateral (
    select *
    from indexed_claims as o
    where o.run_id = c.run_id and o.item_id = c.item_id and o.claim_id = c.claim_id
    offset 0
) as n;
create index claim_words_by_word on claim_words using gin (words);
analyze claim_index;
analyze claim_words;
set local enable_seqscan to on;
*/
