-- A run's answers in a window, in the order in which claims.sql numbers them: what each belongs to, and
-- the probability with which it was sampled.
select m.cluster_id as item_id, coalesce({cluster}, m.cluster_id) as cluster_id, m.inclusion_probability
from (
    select t.item_id as cluster_id, t.sample, t.conversation, t.inclusion_probability
    from traffic_answers as t
    where t.run_id = :run_id and t.answered_at >= :start and t.answered_at < :until
) as m
{joins}
order by m.cluster_id, m.sample
