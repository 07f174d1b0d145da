-- All rounds, the latest first.
select
    r.round_id, r.run_id, r.judgement, r.title, r.guide_version, r.strata_by, r.overlap,
    r.overlap_labels, r.seed, r.created_by, r.created_at, r.closed_at, r.asked, r.shortfall
from annotation_rounds as r
order by r.created_at desc, r.round_id
