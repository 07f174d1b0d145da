-- Failures of the last minutes, and the latest of them: of this name from this address, from the
-- address under any name, of the name from anywhere.
select
    coalesce(sum(case when account = :account and address = :address then 1 else 0 end), 0),
    max(case when account = :account and address = :address then failed_at end),
    coalesce(sum(case when address = :address then 1 else 0 end), 0),
    max(case when address = :address then failed_at end),
    coalesce(sum(case when account = :account then 1 else 0 end), 0),
    max(case when account = :account then failed_at end)
from login_failures
where failed_at > :since
