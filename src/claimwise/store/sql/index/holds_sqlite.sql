-- The claims that hold the words are looked up once, and kept while the list is walked through.
m.claim_no + 0 in (select rowid from claim_words where claim_words match :words)
