-- The calibrations that stand: of each instrument and judgement those that were made last, as long
-- as the instrument still has the prompt and the model that they were made for.
select c.detail
from calibrations as c
join labelers as l
    on l.labeler = c.labeler
    and coalesce(l.prompt_ver, '') = coalesce(c.prompt_ver, '')
    and coalesce(l.model, '') = coalesce(c.model, '')
where not exists (
    select 1
    from calibrations as n
    where n.labeler = c.labeler
        and n.judgement = c.judgement
        and n.made_at > c.made_at
)
order by c.labeler, c.judgement, c.slice
