-- The labels that can decide: all that are not retracted, unless a caller puts a narrower set under this
-- name.
select * from standing_labels
