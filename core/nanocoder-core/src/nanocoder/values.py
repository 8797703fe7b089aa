"""Values shared by all packages: frozen, plain, cheap to create.

A change is a new value (`attrs.evolve`).
"""

import enum
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from attrs import Factory, fields
from nanocoder_schema import plain_value, value

EMPTY: Mapping[str, Any] = {}
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
IN_MANIFEST: Final[Mapping[str, bool]] = {"in_manifest": True}
"""The metadata of a field that is known before its plugin is imported."""


def manifest_of(value: Any) -> dict[str, Any]:
    """Return the fields of *value* that the manifest keeps, ready for JSON."""
    marked = [attribute for attribute in fields(type(value)) if "in_manifest" in attribute.metadata]
    items = {attribute.name: getattr(value, attribute.name) for attribute in marked}
    return {
        name: sorted(map(str, item)) if isinstance(item, frozenset) else plain_value(item)
        for name, item in items.items()
    }


class Risk(enum.StrEnum):
    """The harm that a call can do, mildest first; the order is the order of definition."""

    SAFE = "safe"
    MEDIUM = "medium"
    DANGEROUS = "dangerous"
    DESTRUCTIVE = "destructive"


class Effect(enum.StrEnum):
    """The effects of a call.

    READ, WRITE, EXECUTE, NETWORK are effects; the other two describe them.
    """

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    IDEMPOTENT = "idempotent"
    REVERSIBLE = "reversible"


class Mode(enum.StrEnum):
    """The mode of a session, which decides what needs approval."""

    PLAN = "plan"
    ASK = "ask"
    EDITS = "edits"
    AUTO = "auto"


class Access(enum.StrEnum):
    """The access of a call's processes to files, strictest first; a network only OUTSIDE.

    READ: in the sandbox, with a read-only workspace: writes are discarded. WRITE: in the sandbox,
    with a writable workspace. OUTSIDE: without a sandbox.
    """

    READ = "read"
    WRITE = "write"
    OUTSIDE = "outside"


class Decision(enum.StrEnum):
    """The decision of a policy on a call; ALLOW < ASK < DENY, the strictest of all wins.

    ABSTAIN decides nothing: its reason is added to the question, if there is one.
    """

    ABSTAIN = "abstain"
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class StopReason(enum.StrEnum):
    """The reason why a run ended."""

    DONE = "done"
    TURN_LIMIT = "turn_limit"
    BUDGET = "budget"
    LOOP = "loop"
    REFUSED = "refused"
    APPROVAL_NEEDED = "approval_needed"
    DENIED = "denied"
    INTERRUPTED = "interrupted"
    PROVIDER_ERROR = "provider_error"
    FAILED = "failed"


@value
class ToolCall:
    """One call of a tool.

    It comes from the model, a person, or a composed tool (*parent_id*). With *typed* a person typed
    it, so it needs no approval, but may be denied.

    *error* is the problem of arguments that could not be parsed, else "".
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = Factory(dict)
    parent_id: str = ""
    edited: bool = False
    error: str = ""
    typed: bool = False


@value
class Attachment:
    """A file attached to a text: an image or a page, as bytes with its media type."""

    media_type: str
    data: bytes
    name: str = ""


@value
class ToolResult:
    """The result of a call; a failure is a result, too.

    *output* is the text for the model, *data* the same in structured form (for dialects, renderers
    and scripts), *metadata* is about the call (path, lines, truncated …), *error_class* is set if
    and only if *is_error* is.
    """

    output: str
    title: str = ""
    data: Any = None
    metadata: Mapping[str, Any] = EMPTY
    attachments: Sequence[Attachment] = ()
    is_error: bool = False
    error_class: str = ""
    call_id: str = ""
    duration_ms: float = 0.0
    artifact: str = ""


@value(eq=False)
class Message:
    """One message of the transcript.

    Compared by identity, so that a provider can cache its encoded bytes.

    role "user": *text*, *attachments*, and *typed*: the part that the person typed; "" if the
    program wrote all of *text*, None if the person did. role "assistant": *text*, *calls*, and
    *native*: data that the provider needs back unchanged (thinking blocks, signatures). role
    "tool": *results*, one for each call of the message before.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    native: Any = None
    typed: str | None = None


def strictest_access(accesses: Iterable[Access | None]) -> Access | None:
    """Return the strictest of *accesses*, leaving out those that are None."""
    return min((access for access in accesses if access), key=list(Access).index, default=None)


@value
class Understood:
    """The corrected call of a model; *remarks* describe the corrections."""

    name: str
    arguments: Mapping[str, Any]
    remarks: tuple[str, ...] = ()


@value
class Verdict:
    """One policy's decision on a call, and its origin.

    *rule* is the rule as written, *source* its file and line or the name of a default, *plugin* the
    policy. With *asks_inside_composed* a person is asked even if they approved the composed call
    that this one is a step of. A verdict that allows and *covers_steps* approves the steps of a
    composed call, too; without it each step is judged by itself. A verdict that asks may offer
    *grants*: rules, as text, that together would allow exactly this call.

    The rest are obligations. *arguments* replace the call's own, which is then checked and judged
    again; *access* limits the call's processes, and the strictest one counts (None: no opinion);
    *sandbox* allows the call to start processes in a sandbox only; *persons* is the number of
    different people who have to approve it, and more than one turns an allow into an ask.
    """

    decision: Decision
    reason: str = ""
    rule: str = ""
    source: str = ""
    plugin: str = ""
    asks_inside_composed: bool = False
    covers_steps: bool = False
    grants: tuple[str, ...] = ()
    arguments: Mapping[str, Any] | None = None
    sandbox: bool = False
    persons: int = 1
    access: Access | None = None

    @property
    def processes(self) -> Access | None:
        """The access of the call's processes by *access* and *sandbox* together."""
        return strictest_access((self.access, Access.WRITE if self.sandbox else None))


@value
class Usage:
    """Tokens of one or several requests; *cost* in US dollars, None if the price is unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Add two usages; an unknown price is not added."""
        costs = [usage.cost for usage in (self, other) if usage.cost is not None]
        tokens = {name: getattr(self, name) + getattr(other, name) for name in TOKENS}
        return Usage(**tokens, cost=sum(costs) if costs else None)


@value
class Event:
    """An event of a session; events are in order.

    *kind* is a dotted name ("call.started"; docs/reference/events.md lists them all), *data* is
    JSON-ready, *at* is seconds since the epoch.
    """

    kind: str
    data: Mapping[str, Any] = EMPTY
    call_id: str = ""
    at: float = Factory(time.time)


@value
class ApprovalRequest:
    """A question to a person.

    The answer must echo *id* and *digest*; each request takes one answer.

    *digest* is the SHA-256 of the canonical JSON of the frozen arguments, *preview* the effect of
    the call (a diff, a command), *sequence* counts up within the session. After *timeout_s* seconds
    (0: no limit) the call is denied, and an answer is ignored. *always* describes the calls that an
    answer with `always` would approve, *grants* are the rules that one with a *scope* would save.
    *approved_by* are the people who approved the call already, if it needs another one. *group*
    are the requests of later calls of the same turn that would ask now. *access* is that of its
    processes, None if no policy limits it.
    """

    id: str
    sequence: int
    call: ToolCall
    digest: str
    risk: Risk
    effects: frozenset[Effect] = frozenset()
    plugin: str = ""
    reason: str = ""
    preview: str = ""
    cwd: str = ""
    steps: tuple[str, ...] = ()
    timeout_s: float = 0.0
    always: str = ""
    grants: tuple[str, ...] = ()
    approved_by: tuple[str, ...] = ()
    group: tuple[Any, ...] = ()
    access: Access | None = None


@value
class ApprovalAnswer:
    """A person's answer.

    *arguments* replaces the call's own ("edit"), *always* repeats the approval for the session. A
    *scope* ("session", "project", "user") grants the rules that the request offers, for *lasts_s*
    seconds (0: until they are revoked, or the session ends), in a session for *uses* more calls (0:
    any number). *actor* is the person's name as the screen knows it: one that they cannot choose
    themselves. *group* may hold answers to requests of the request's own group; each counts if its
    call still asks the same when it is prepared.
    """

    id: str
    digest: str
    approved: bool
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
    always: bool = False
    scope: str = ""
    lasts_s: float = 0.0
    uses: int = 0
    actor: str = ""
    group: tuple[Any, ...] = ()


@value
class Question:
    """A question of a tool to the person, as text; it takes one answer.

    *choices* may be empty. With *custom* an answer in the person's own words is valid, too. The
    tool gives up after *timeout_s* seconds.
    """

    text: str
    choices: tuple[str, ...] = ()
    custom: bool = True
    timeout_s: float = 60.0
    call_id: str = ""
