-- The labels that may decide. All of them, unless a caller puts a narrower set under this name.
select * from labels
