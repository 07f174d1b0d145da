delete from llm_replies where key = :key
