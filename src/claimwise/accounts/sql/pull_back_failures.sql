-- The clock was set back: what it says lies ahead counts as of now.
update login_failures set failed_at = :now where failed_at > :now
