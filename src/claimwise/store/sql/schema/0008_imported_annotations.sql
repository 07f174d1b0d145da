-- Which labeler an annotation of another tool belongs to: imported again under any name, it stays that
-- person's.
create table imported_annotations (
    run_id text not null,
    item_id text not null,
    claim_id text not null,
    judgement text not null check (judgement in ('grounded', 'closed_book')),
    annotation_id text not null,
    labeler text not null references labelers (labeler),
    primary key (run_id, item_id, claim_id, judgement, annotation_id),
    foreign key (run_id, item_id, claim_id) references claims (run_id, item_id, claim_id)
);
