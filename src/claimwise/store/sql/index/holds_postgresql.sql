-- A scalar subquery stays one: each claim's words are looked at while the list is walked through.
(select w.words @@ to_tsquery('simple', :words) from claim_words as w where w.claim_no = m.claim_no)
