-- Labels: verdict, confidence, labeler and time stay. A span of a document that is still there stays with
-- it; what rests on the action log rests on its overwritten entry.
update labels
set
    claim_text = '[deleted]',
    reason = null,
    covered_text = case when covered_text is null then null else 'deleted' end,
    supporting_span = case
        when supporting_span is not null and source_id is null then '[deleted]'
        else supporting_span
    end
where exists (
    select 1
    from traffic_answers as t
    where t.run_id = labels.run_id and t.item_id = labels.item_id and t.text_deleted_at = :now
)
