-- One row per claim: its deciding label, as recorded whenever a label or a retraction is written.
select {label_columns} from labels where decides
