-- Which judgements of a run there are, successful or not: against the sources, closed-book.
select
    exists (select 1 from labels as l where l.run_id = :run_id)
    or exists (
        select 1
        from unscored_claims as u
        where u.run_id = :run_id and u.judgement = 'grounded'
    ) as grounded,
    exists (select 1 from closed_book_labels as l where l.run_id = :run_id)
    or exists (
        select 1
        from unscored_claims as u
        where u.run_id = :run_id and u.judgement = 'closed_book'
    ) as closed_book
