-- Runs of live traffic with an answer that is not split into claims yet, or a claim without a verdict of
-- a labeler; answers whose texts were deleted can't be judged any more.
select r.run_id
from runs as r
where exists (
    select 1
    from traffic_answers as t
    join answers as a on a.run_id = t.run_id and a.item_id = t.item_id and a.sample = t.sample
    where t.run_id = r.run_id
        and t.text_deleted_at is null
        and a.answer_text is not null
        and (
            not exists (
                select 1
                from claims as c
                where c.run_id = a.run_id and c.item_id = a.item_id and c.sample = a.sample
            )
            or exists (
                select 1
                from claims as c
                where c.run_id = a.run_id
                    and c.item_id = a.item_id
                    and c.sample = a.sample
                    and c.claim_type <> 'non_factual'
                    and not exists (
                        select 1
                        from labels as l
                        where l.run_id = c.run_id
                            and l.item_id = c.item_id
                            and l.claim_id = c.claim_id
                            and l.labeler = :labeler
                    )
                    and not exists (
                        select 1
                        from unscored_claims as u
                        where u.run_id = c.run_id
                            and u.item_id = c.item_id
                            and u.claim_id = c.claim_id
                            and u.labeler = :labeler
                    )
            )
        )
)
order by r.started_at, r.run_id
