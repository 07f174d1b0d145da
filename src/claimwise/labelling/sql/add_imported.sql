insert into imported_annotations (run_id, item_id, claim_id, judgement, annotation_id, labeler)
values (:run_id, :item_id, :claim_id, :judgement, :annotation_id, :labeler)
on conflict do nothing
