-- As for labels, of either judgement; and the same failure is told once.
not exists (
    select 1
    from claims as c
    where c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
)
or (
    s.judgement = 'grounded'
    and exists (
        select 1
        from standing_labels as l
        where l.run_id = s.run_id
            and l.item_id = s.item_id
            and l.claim_id = s.claim_id
            and l.labeler = s.labeler
            and l.labeled_at >= :since
    )
)
or (
    s.judgement = 'closed_book'
    and exists (
        select 1
        from standing_closed_book_labels as l
        where l.run_id = s.run_id
            and l.item_id = s.item_id
            and l.claim_id = s.claim_id
            and l.labeler = s.labeler
            and l.labeled_at >= :since
    )
)
or exists (
    select 1
    from unscored_claims as u
    where u.run_id = s.run_id
        and u.item_id = s.item_id
        and u.claim_id = s.claim_id
        and u.judgement = s.judgement
        and u.labeler = s.labeler
        and u.reason = s.reason
        and u.failed_at >= :since
)
