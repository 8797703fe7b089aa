"""The vendors and servers that speak OpenAI's protocols, one row each."""

from typing import Final, Literal, NamedTuple


class Vendor(NamedTuple):
    """One vendor, or a server that people run themselves.

    *address_variable* and *key_variable* are environment variables; an address of the first is
    completed by *suffix*. *prices* is the vendor's name in the table of models, or "".
    *counts_unasked* is true if a reply has token counts without a request for them, which some
    vendors reject. *reasoning* is "refused" for a server that does not accept its own reasoning
    back. *short_ids* is true if ids of calls must have nine letters and digits: those of another
    model, or of a fallback, are longer. *takes_schema* is true for a server that enforces a JSON
    schema on a reply, which small models need more than tool calls. *rank* is that of ProviderSpec.
    """

    name: str
    description: str
    address_variable: str
    key_variable: str
    address: str = ""
    suffix: str = ""
    key_header: Literal["authorization", "api-key"] = "authorization"
    default_model: str = ""
    prices: str = ""
    api: Literal["chat", "responses"] = "chat"
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    counts_unasked: bool = False
    reasoning: Literal["", "refused"] = ""
    short_ids: bool = False
    takes_schema: bool = False
    rank: int = 20

    @property
    def is_local(self) -> bool:
        """Return True if the vendor is a server on this machine, which needs no key."""
        return self.address.startswith("http://localhost:")


OPENAI: Final = Vendor(
    name="openai",
    description="OpenAI, or any server that speaks Chat Completions or Responses.",
    address="https://api.openai.com/v1",
    address_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
    default_model="gpt-6.1-sol",
    prices="openai",
    api="responses",
    limit_field="max_completion_tokens",
    rank=11,
)
CUSTOM: Final = OPENAI._replace(address="", prices="", api="chat", limit_field="max_tokens")
"""A server at the user's own address: the most common protocol, and no price."""

OTHERS: Final = (
    Vendor(
        name="openrouter",
        description="OpenRouter, a gateway to the models of many vendors.",
        address="https://openrouter.ai/api/v1",
        address_variable="OPENROUTER_BASE_URL",
        key_variable="OPENROUTER_API_KEY",
        default_model="openrouter/auto",
        prices="openrouter",
    ),
    Vendor(
        name="azure",
        description="Models of OpenAI in Azure; the model is the name of your deployment.",
        address_variable="AZURE_OPENAI_ENDPOINT",
        suffix="/openai/v1",
        key_variable="AZURE_OPENAI_API_KEY",
        key_header="api-key",
        prices="azure",
        limit_field="max_completion_tokens",
    ),
    Vendor(
        name="bedrock",
        description="Models in Amazon Bedrock that it offers in OpenAI's protocol.",
        address_variable="AWS_BEDROCK_BASE_URL",
        key_variable="AWS_BEARER_TOKEN_BEDROCK",
    ),
    Vendor(
        name="vertex",
        description="Models in Google's Vertex AI, through its endpoint in OpenAI's protocol.",
        address_variable="VERTEX_BASE_URL",
        key_variable="VERTEX_ACCESS_TOKEN",
    ),
    Vendor(
        name="groq",
        description="Groq.",
        address="https://api.groq.com/openai/v1",
        address_variable="GROQ_BASE_URL",
        key_variable="GROQ_API_KEY",
        default_model="openai/gpt-oss-120b",
        prices="groq",
        limit_field="max_completion_tokens",
        reasoning="refused",
    ),
    Vendor(
        name="together",
        description="Together AI.",
        address="https://api.together.xyz/v1",
        address_variable="TOGETHER_BASE_URL",
        key_variable="TOGETHER_API_KEY",
        default_model="openai/gpt-oss-120b",
        prices="together",
    ),
    Vendor(
        name="mistral",
        description="Mistral.",
        address="https://api.mistral.ai/v1",
        address_variable="MISTRAL_BASE_URL",
        key_variable="MISTRAL_API_KEY",
        default_model="mistral-medium-latest",
        prices="mistral",
        counts_unasked=True,
        short_ids=True,
    ),
    Vendor(
        name="deepseek",
        description="DeepSeek.",
        address="https://api.deepseek.com/v1",
        address_variable="DEEPSEEK_BASE_URL",
        key_variable="DEEPSEEK_API_KEY",
        default_model="deepseek-v4-pro",
        prices="deepseek",
    ),
    Vendor(
        name="xai",
        description="xAI.",
        address="https://api.x.ai/v1",
        address_variable="XAI_BASE_URL",
        key_variable="XAI_API_KEY",
        default_model="grok-4.7",
        prices="x-ai",
    ),
    Vendor(
        name="vllm",
        description="A server of vLLM on this machine.",
        address="http://localhost:8000/v1",
        address_variable="VLLM_BASE_URL",
        key_variable="VLLM_API_KEY",
        takes_schema=True,
        rank=52,
    ),
    Vendor(
        name="lmstudio",
        description="LM Studio on this machine.",
        address="http://localhost:1234/v1",
        address_variable="LMSTUDIO_BASE_URL",
        key_variable="LMSTUDIO_API_KEY",
        takes_schema=True,
        rank=53,
    ),
    Vendor(
        name="llamacpp",
        description="llama.cpp's server on this machine.",
        address="http://localhost:8080/v1",
        address_variable="LLAMACPP_BASE_URL",
        key_variable="LLAMACPP_API_KEY",
        takes_schema=True,
        rank=54,
    ),
)

SERVERS: Final = {
    "ollama": "OPENAI_BASE_URL=http://localhost:11434/v1",
    "lm-studio": "OPENAI_BASE_URL=http://localhost:1234/v1",
    "llama.cpp": "OPENAI_BASE_URL=http://localhost:8080/v1",
    "litellm": "OPENAI_BASE_URL=http://localhost:4000/v1",
}
"""Other names of servers, at their usual addresses."""


def vendor_at(address: str) -> Vendor:
    """Return the vendor behind *address*; a server of one's own for any other."""
    plain = address.partition("?")[0].rstrip("/")
    rows = (row for row in (OPENAI, *OTHERS) if plain == row.address)
    return next(rows, CUSTOM)
