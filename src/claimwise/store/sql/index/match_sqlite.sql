select rowid as claim_no from claim_words where claim_words match :words
