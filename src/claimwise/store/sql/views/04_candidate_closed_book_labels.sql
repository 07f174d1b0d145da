-- The closed-book labels that may decide.
select * from closed_book_labels
