-- The closed-book labels that may decide: all that stand.
select * from standing_closed_book_labels
