-- A judge was changed, and judges again: what is registered of it follows.
update labelers
set model = :model, prompt_ver = :prompt_ver
where labeler = :labeler and labeler_kind = :labeler_kind
