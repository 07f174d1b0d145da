-- The annotations of another tool that were imported into a run, and whose labels they became.
select n.judgement, n.item_id, n.claim_id, n.annotation_id, n.labeler
from imported_annotations as n
where n.run_id = :run_id
