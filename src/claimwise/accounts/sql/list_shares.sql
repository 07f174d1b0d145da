-- All links, those that hold first, the latest first among them.
select link_id, system, baseline, note, created_by, created_at, expires_at, revoked_at
from share_links
order by case when revoked_at is null and expires_at > :now then 0 else 1 end, created_at desc, link_id
