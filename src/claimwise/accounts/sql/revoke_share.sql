update share_links
set revoked_at = :now, revoked_by = :who
where link_id = :link_id and revoked_at is null
