cross join claim_index as m
where m.claim_no = h.claim_no
