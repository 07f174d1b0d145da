-- One row per claim: its deciding closed-book label; see deciding_labels.
select {closed_book_label_columns} from closed_book_labels where decides
