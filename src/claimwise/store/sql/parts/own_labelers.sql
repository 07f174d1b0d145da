-- A process that prepares a part may not write to the store: it registers labelers in a table of its own,
-- which is found before the store's.
create temporary table labelers as select * from main.labelers;
create unique index temp.labelers_by_name on labelers (labeler);
