-- One row per claim: the label that decides it, as kept beside it whenever a label or a retraction is written.
select {label_columns} from labels where decides
