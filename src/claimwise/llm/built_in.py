"""The providers that come with claimwise, registered as those of any other package are."""

from __future__ import annotations

from claimwise.llm.providers import Provider


def _make_local(name: str, title: str, port: int) -> Provider:
    stem = name.upper()
    return Provider(
        name=name,
        description=f"{title} on this machine (port {port})",
        base_url=f"http://127.0.0.1:{port}/v1",
        base_env=f"{stem}_BASE_URL",
        key_env=f"{stem}_API_KEY",
        key_needed=False,
        local=True,
    )


OPENAI = Provider(
    name="openai",
    description="OpenAI's models",
    base_url="https://api.openai.com/v1",
    base_env="OPENAI_BASE_URL",
    key_env="OPENAI_API_KEY",
    limit_name="max_completion_tokens",
    batches="openai",
)
AZURE = Provider(
    name="azure",
    description="OpenAI's models on Azure; the model is the deployment's name",
    base_env="AZURE_OPENAI_ENDPOINT",
    key_env="AZURE_OPENAI_API_KEY",
    auth="api-key",
    api_version="2024-10-21",
    version_env="OPENAI_API_VERSION",
    batches="azure",
)
ANTHROPIC = Provider(
    name="anthropic",
    description="Anthropic's models",
    base_url="https://api.anthropic.com",
    base_env="ANTHROPIC_BASE_URL",
    key_env="ANTHROPIC_API_KEY",
    wire="anthropic",
    auth="x-api-key",
    batches="anthropic",
)
OPENROUTER = Provider(
    name="openrouter",
    description="models of many makers through OpenRouter",
    base_url="https://openrouter.ai/api/v1",
    base_env="OPENROUTER_BASE_URL",
    key_env="OPENROUTER_API_KEY",
)
OLLAMA = _make_local("ollama", "Ollama", 11434)
VLLM = _make_local("vllm", "vLLM", 8000)
LLAMACPP = _make_local("llamacpp", "llama.cpp", 8080)
LMSTUDIO = _make_local("lmstudio", "LM Studio", 1234)
OPENAI_COMPATIBLE = Provider(
    name="openai-compatible",
    description="any server that speaks OpenAI's format",
    base_env="CLAIMWISE_BASE_URL",
    key_env="CLAIMWISE_API_KEY",
    key_needed=False,
)
