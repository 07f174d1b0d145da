-- Where a cascade settled the claims of a run: what it says of a label begins with the stage.
select
    case
        when substr(v.decision_basis, 1, length(:corpus) + 1) = :corpus || ':' then :corpus
        else :closed_book
    end as stage,
    count(*) as claims
from {candidate_labels} as v
where v.run_id = :run_id
    and v.labeler = :labeler
    and {no_later_label}
group by
    case
        when substr(v.decision_basis, 1, length(:corpus) + 1) = :corpus || ':' then :corpus
        else :closed_book
    end
