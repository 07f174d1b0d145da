insert into calibrations (
    calibration_id, labeler, judgement, prompt_ver, model, slice, status, claims, items, agreement,
    agreement_low, kappa, kappa_low, human_kappa, detail, made_at, expires_at
) values (
    :calibration_id, :labeler, :judgement, :prompt_ver, :model, :slice, :status, :claims, :items,
    :agreement, :agreement_low, :kappa, :kappa_low, :human_kappa, :detail, :made_at, :expires_at
)
