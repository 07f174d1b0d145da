-- What a run's figures rest on, in counts and latest times: while it stays the same, so do they.
-- Rows that someone changes in place are not seen.
select
    (select count(*) from claims as t where t.run_id = :run_id) as claims,
    (select count(*) from labels as t where t.run_id = :run_id) as labels,
    (select max(t.labeled_at) from labels as t where t.run_id = :run_id) as labelled,
    (select count(*) from closed_book_labels as t where t.run_id = :run_id) as closed_book,
    (select max(t.labeled_at) from closed_book_labels as t where t.run_id = :run_id) as closed_at,
    (select count(*) from answer_labels as t where t.run_id = :run_id) as answer_labels,
    (select count(*) from label_retractions as t where t.run_id = :run_id) as retractions,
    (select count(*) from unscored_claims as t where t.run_id = :run_id) as unscored,
    (select count(*) from answers as t where t.run_id = :run_id) as answers,
    (select count(*) from run_actions as t where t.run_id = :run_id) as actions,
    (select count(*) from citations as t where t.run_id = :run_id) as citations,
    (select count(*) from contexts as t where t.run_id = :run_id) as contexts,
    (select count(*) from eval_items) as items,
    (select count(*) from item_attributes) as attributes,
    (select count(*) from gold_spans) as gold_spans,
    (select count(*) from gold_span_versions) as span_versions,
    (select count(*) from item_retirements as t where t.restored_at is null) as retired,
    (select count(*) from annotation_rounds as t where t.run_id = :run_id) as rounds,
    (select count(*) from calibrations) as calibrations
