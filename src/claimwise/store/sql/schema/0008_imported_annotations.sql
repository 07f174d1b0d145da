-- The labeler that an annotation from another tool belongs to. If it is imported again under another name,
-- it keeps this labeler.
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
