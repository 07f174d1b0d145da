-- Whether a labeler has labelled anything in any run.
select 1 from {labels} as l where l.labeler = :labeler limit 1
