select claim_no from claim_words where words @@ to_tsquery('simple', :words)
