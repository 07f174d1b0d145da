-- Who stands beside labels under a name, in whatever letters.
select labeler from labelers where lower(labeler) = lower(:account)
