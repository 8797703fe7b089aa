"""The names of spans, attributes and metrics.

They are those of the OpenTelemetry semantic conventions for generative AI, version 1.41.0, whose
status is "Development": a later version may rename them, and then only this table changes. Names
that begin with "nanocoder." are our own, for facts without a name in the conventions.
"""

from typing import Final

VERSION: Final = "1.41.0"
SCHEMA_URL: Final = f"https://opentelemetry.io/schemas/{VERSION}"

# Attributes of the conventions.
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
ERROR_TYPE: Final = "error.type"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
OPERATION: Final = "gen_ai.operation.name"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
TYPE_OF_TOKENS: Final = "gen_ai.token.type"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_RESULT: Final = "gen_ai.tool.call.result"

# Operations of the conventions; a span's name is one of them and its subject.
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"
INVOKE_AGENT: Final = "invoke_agent"

UNKNOWN: Final = "unknown"
"""The name of a tool until it is known to exist: a model may invent any."""

# Metrics of the conventions.
USAGE_OF_TOKENS: Final = "gen_ai.client.token.usage"
OPERATION_DURATION: Final = "gen_ai.client.operation.duration"

# Our own attributes.
DECISION: Final = "nanocoder.policy.decision"
MODE: Final = "nanocoder.mode"
OUTCOME: Final = "nanocoder.approval.outcome"
PLUGIN: Final = "nanocoder.plugin"
POLICY_PLUGIN: Final = "nanocoder.policy.plugin"
REASON: Final = "nanocoder.reason"
RISK: Final = "nanocoder.tool.risk"
RULE: Final = "nanocoder.policy.rule"
SANDBOX: Final = "nanocoder.sandbox"
STAGE: Final = "nanocoder.stage"
STATUS: Final = "nanocoder.tool.status"
STOP_REASON: Final = "nanocoder.stop_reason"
TURN: Final = "nanocoder.turn"
COST: Final = "nanocoder.cost"

# Our own metrics.
COST_TOTAL: Final = "nanocoder.cost"
TOOL_COST: Final = "nanocoder.tool.cost"
TOOL_DURATION: Final = "nanocoder.tool.duration"
TOOL_OUTPUT_TOKENS: Final = "nanocoder.tool.output.tokens"
APPROVALS: Final = "nanocoder.approvals"
DROPPED: Final = "nanocoder.telemetry.dropped"
