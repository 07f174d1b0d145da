-- The closed-book labels that can decide: all that are not retracted.
select * from standing_closed_book_labels
