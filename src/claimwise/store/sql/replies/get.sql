select reply, served_by, input_tokens, output_tokens from llm_replies where key = :key
