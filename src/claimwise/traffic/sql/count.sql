-- Adds to a count; a negative number takes from it.
insert into traffic_counts (day, system, rule, outcome, reason, answers)
values (:day, :system, :rule, :outcome, :reason, :answers)
on conflict (day, system, rule, outcome, reason)
do update set answers = traffic_counts.answers + excluded.answers
