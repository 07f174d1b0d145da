-- Kept replies of language models, which quote what they were asked about.
delete from llm_replies where created_at < :before
