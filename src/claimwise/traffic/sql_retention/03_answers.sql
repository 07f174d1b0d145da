-- Answers, and what systems said of their failures.
update answers
set
    answer_text = case when answer_text is null then null else '[deleted]' end,
    failure = case when failure is null then null else '[deleted]' end
where exists (
    select 1
    from traffic_answers as t
    where t.run_id = answers.run_id
        and t.item_id = answers.item_id
        and t.sample = answers.sample
        and t.text_deleted_at = :now
)
