-- Who judged a run's claims against the sources, or tried to.
select p.labeler, p.labeler_kind, p.version, p.model, p.prompt_ver
from labelers as p
where p.labeler in (select l.labeler from standing_labels as l where l.run_id = :run_id)
    or p.labeler in (select u.labeler from unscored_claims as u where u.run_id = :run_id)
order by p.labeler
