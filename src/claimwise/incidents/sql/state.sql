-- What the list of incidents rests on, in counts: while it stays the same, so does the list.
select
    (select count(*) from incidents) as incidents,
    (select count(*) from incident_claims as c where c.wrong is not null) as labelled,
    (select count(*) from runs) as runs,
    (select count(*) from answers as a join incidents as i on i.item_id = a.item_id) as asked
