-- How far a round is. Both counts are read from an index alone: this is asked with every claim.
select
    (select count(*) from annotation_slots as s where s.round_id = :round_id) as slots,
    (
        select count(*)
        from annotation_slots as d
        where d.round_id = :round_id and d.state = 'done'
    ) as done
