-- Items of which it is known what they rest on: a gold span, or a passage given to one of the runs.
select item_id from gold_spans
union
select item_id from contexts where run_id in (:base_run, :new_run)
