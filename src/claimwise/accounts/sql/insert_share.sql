insert into share_links (link_id, token_hash, system, baseline, note, created_by, created_at, expires_at)
values (:link_id, :token_hash, :system, :baseline, :note, :created_by, :now, :expires_at)
