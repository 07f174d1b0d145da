-- FTS5 would read all that hold a word to ask it of one claim: the claim's own text is looked at.
(select holds_words(w.claim_text, w.question, :words) from claim_words as w where w.rowid = m.claim_no)
