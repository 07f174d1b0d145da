-- Runs whose id, system, model or versions hold some words, the latest first.
select r.run_id, r.system, r.started_at
from runs as r
where strpos(
    lower(
        r.run_id || ' ' || r.system || ' ' || coalesce(r.model, '') || ' '
        || coalesce(r.prompt_ver, '') || ' ' || coalesce(r.retriever_ver, '') || ' ' || r.corpus_ver
    ),
    lower(:words)
) > 0
order by r.started_at desc, r.run_id
limit :most
