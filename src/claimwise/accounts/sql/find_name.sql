-- Who has the name already: an account, in whatever letters, or an instrument.
select account from accounts where lower(account) = lower(:account)
union all
select labeler from labelers where labeler = :account and labeler_kind = 'verifier'
