insert into llm_replies
    (key, model, prompt, served_by, reply, input_tokens, output_tokens, created_at)
values
    (:key, :model, :prompt, :served_by, :reply, :input_tokens, :output_tokens, :created_at)
on conflict (key) do nothing
