case
    when d.label_kind = 'adjudicated' then -3
    when d.label_kind = 'human' then -2
    else -coalesce(d.confidence, 0)
end
