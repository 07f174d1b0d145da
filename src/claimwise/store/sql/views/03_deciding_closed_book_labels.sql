-- One row per claim: the closed-book label that decides it; see deciding_labels.
select {closed_book_label_columns} from closed_book_labels where decides
