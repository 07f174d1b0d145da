-- Takes an entry out of the inbox.
delete from traffic_inbox where entry_id = :entry_id
