-- Which answers lose their texts: the other statements go by this mark.
update traffic_answers
set text_deleted_at = :now
where answered_at < :before and text_deleted_at is null
