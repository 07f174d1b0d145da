case
    when d.verdict in ('contradicted', 'false') then 0
    when d.verdict = 'overreach' then 1
    when d.verdict in ('unlinked', 'unverifiable') then 2
    when d.verdict = 'stale' then 3
    when d.verdict is null then 4
    when d.verdict in ('supported', 'true') then 5
    else 6
end
