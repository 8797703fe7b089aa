"""A tool is one definition: its signature is check, static type and JSON Schema at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack, overload

from attrs import field
from nanocoder_schema import Signature, ToolError, evolve, mutable, value

from nanocoder.cancel import Cancel, wait_for
from nanocoder.errors import PluginError
from nanocoder.tools.outcome import as_result
from nanocoder.tools.session_info import ChildSession, SessionInfo
from nanocoder.values import EMPTY, IN_MANIFEST, Effect, Mode, Question, Risk, ToolResult

if TYPE_CHECKING:
    from nanocoder_files import Workspace

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_TIMEOUT_S = 120.0
ANY_TOOL = "*"
"""In `composed_of`: every offered tool, except those that may call any tool themselves."""
MAX_DEPTH = 4
"""The deepest nesting of composed tools' calls."""
MAX_NAME_CHARS = 64
OUTWARD = frozenset({Effect.WRITE, Effect.EXECUTE, Effect.NETWORK})
"""Effects that others may notice."""


@value
class ToolInfo:
    """The description of a tool for other tools.

    *parameters* is a closed JSON Schema object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    risk: Risk = Risk.MEDIUM


def _lacking(lack: str) -> Callable[..., Any]:
    """Return a function that raises RuntimeError, in place of a service that a context lacks."""

    def refuse(*_: object, **_options: object) -> Any:
        raise RuntimeError(f"this context {lack}")

    return refuse


@mutable
class ToolContext:
    """The context of a handler besides its arguments: its session, workspace and services.

    *cancelled* is the abort signal, *settings* the plugin's own, *state* a dict shared by the calls
    of one composed operation.

    * `call(name, arguments)` runs a declared sub-tool through the whole path; a failure is a result
      with is_error
    * `resource(name)` returns a resource from `nanocoder_resources`, opened at first use, closed
      with the session
    * `artifact(name, data)` stores a full output beside the journal and returns its path, or ""
    * `ask(question)` puts a question to the person; None if no person is there, or none answers
      in time. Give the tool `timeout_s=0`: a person's thinking time is not the tool's.
    """

    session_id: str
    message_id: str
    workspace: "Workspace"
    working_directory: Path
    cancelled: Cancel = field(factory=Cancel)
    settings: Any = None
    session: SessionInfo | None = None
    state: dict[str, Any] = field(factory=dict)
    timeout_s: float = DEFAULT_TIMEOUT_S
    call: Callable[[str, Mapping[str, Any]], ToolResult] = _lacking("reaches no other tools")
    resource: Callable[[str], Any] = _lacking("has no resources")
    artifact: Callable[[str, bytes], str] = lambda _name, _data: ""
    ask: Callable[[Question], str | None] = lambda _question: None
    _progress: Callable[..., None] = lambda *_, **_data: None
    _make_tmp: Callable[[], Path] = _lacking("has no temporary directory")
    _wrap: Callable[[list[str], Sequence[int]], list[str]] = lambda argv, _ports: argv
    _child: Callable[..., ChildSession] = _lacking("opens no sessions")
    _tools: Callable[[], tuple[ToolInfo, ...]] = tuple

    @property
    def tools(self) -> tuple[ToolInfo, ...]:
        """The tools that this session offers now, including the calling one; to read only."""
        return self._tools()

    def offers(self, tool: str, parameter: str) -> bool:
        """Return True if *tool* offers *parameter* to the model; a small model gets fewer."""
        properties = {info.name: info.parameters["properties"] for info in self.tools}
        return tool not in properties or parameter in properties[tool]

    @property
    def tmp_dir(self) -> Path:
        """A private directory of this call, made at first use and removed afterwards."""
        return self._make_tmp()

    def progress(self, text: str, *, is_output: bool = False) -> None:
        """Show one line while the call runs; with *is_output* a piece of a program's output.

        Pieces are shown as they come; the model never reads them.
        """
        self._progress(text, **({"is_output": True} if is_output else {}))

    def wrap(self, argv: list[str], ports: Sequence[int] = ()) -> list[str]:
        """Return *argv* as the session's sandbox runs it; raises ToolError(sandbox_unavailable).

        A program that listens on one of *ports* is reachable there from outside of the sandbox.
        """
        return self._wrap(argv, ports)

    def child(
        self, cwd: str | Path | None = None, **options: "Unpack[ChildOptions]"
    ) -> ChildSession:
        """Open a session inside this one, for a sub-agent; close it, or use it in a `with`.

        It has this session's plugins, settings and policies, and a transcript of its own. *cwd* is
        its directory (none: this one's). Only a tool with `composed_of=("*",)` opens sessions.
        Raises: ToolError (nested_session, too_many_sessions, undeclared_subtool), UsageError.
        """
        return self._child(cwd=cwd, **options)


class ChildOptions(TypedDict, total=False):
    """The options of a child session.

    *mode* can only be stricter, *agent* is its name for policies, *title* its name in questions to
    a person, *tools* tells of each tool whether the child has it. With *background* it may outlive
    this call, without a person to ask. *max_turns* (0: this session's), *max_calls* and
    *max_tokens* (0: no limit) are its budget.
    """

    model: str
    mode: Mode | str | None
    agent: str
    title: str
    background: bool
    tools: "Callable[[Tool[..., Any]], bool] | None"
    max_turns: int
    max_calls: int
    max_tokens: int


def _effects(values: Iterable[str]) -> frozenset[Effect]:
    return frozenset(map(Effect, values))


def _tuple(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(values)  # with `tuple` as the converter mypy would not know the field's type


@value(eq=False)
class Tool(Generic[P, R]):
    """One tool. Effects drive parallelism, plan mode, retry, undo, risk display and the sandbox.

    *timeout_s* is the limit of one call in seconds (None: the session's, 0: none, the tool has its
    own). *composed_of* names the sub-tools it may call ("*": any); *single_confirmation* asks once
    for all of them; *transactional* restores every file after a failure. *repeatable* exempts
    polling tools from the loop guard. *commands* names the arguments that are shell commands, which
    policies judge as such. *always_listed* keeps the tool in every request, while others may be
    omitted until a model searches for them. Plan mode offers a tool that is *in_plan* although it
    can change something: policies restrict it to reading there. *only_reads* tells by the arguments
    whether a call may run beside others of its turn, although the tool can do more. *needs* is the
    condition for the tool to be offered: "person", somebody who answers questions, or the name of a
    setting that is set, or of a resource that is true, of its own plugin.
    *load* is set on a tool that is known only from the manifest.
    """

    name: str = field(metadata=IN_MANIFEST)
    description: str = field(metadata=IN_MANIFEST)
    handler: Callable[P, R]
    signature: Signature
    risk: Risk = field(default=Risk.MEDIUM, converter=Risk, metadata=IN_MANIFEST)
    effects: frozenset[Effect] = field(default=(), converter=_effects, metadata=IN_MANIFEST)
    composed_of: tuple[str, ...] = field(default=(), converter=_tuple, metadata=IN_MANIFEST)
    single_confirmation: bool = field(default=False, metadata=IN_MANIFEST)
    transactional: bool = field(default=False, metadata=IN_MANIFEST)
    timeout_s: float | None = field(default=None, metadata=IN_MANIFEST)
    confirm: Callable[[Mapping[str, Any]], bool] | None = None
    only_reads: Callable[[Mapping[str, Any]], bool] | None = None
    examples: tuple[Mapping[str, Any], ...] = field(
        default=(), converter=_tuple, metadata=IN_MANIFEST
    )
    repeatable: bool = field(default=False, metadata=IN_MANIFEST)
    always_listed: bool = field(default=False, metadata=IN_MANIFEST)
    in_plan: bool = field(default=False, metadata=IN_MANIFEST)
    commands: tuple[str, ...] = field(default=(), converter=_tuple, metadata=IN_MANIFEST)
    needs: tuple[str, ...] = field(default=(), converter=_tuple, metadata=IN_MANIFEST)
    short: str = field(default="", metadata=IN_MANIFEST)
    plugin: str = ""
    version: str = ""
    schema: Mapping[str, Any] = EMPTY
    tokens: int = 0
    load: "Callable[[], Tool[..., Any]] | None" = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the handler directly, without the path; for tests."""
        return self.handler(*args, **kwargs)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The closed JSON Schema of the arguments."""
        return self.schema or self.signature.json_schema

    @property
    def is_read_only(self) -> bool:
        """Return True if the tool only reads, without an effect outside."""
        return bool(self.effects) and not self.effects & {Effect.WRITE, Effect.EXECUTE}

    def certainly_reads(self, arguments: Mapping[str, Any]) -> bool:
        """Return True if a call with *arguments* only reads, False if the tool's check fails."""
        if self.is_read_only:
            return True
        try:
            only_reads = self.real().only_reads
            return only_reads is not None and bool(only_reads(arguments))
        except Exception:  # noqa: BLE001 - the call itself reports a failing plugin
            return False

    def wants_consent(self, arguments: Mapping[str, Any]) -> bool:
        """Return True if the tool itself asks for approval, or its check fails."""
        try:
            return self.confirm is not None and bool(self.confirm(arguments))
        except Exception:  # noqa: BLE001 - the tool's own code may do anything there
            return True

    def check_step(self, name: str, step: "Tool[..., Any] | None") -> None:
        """Raise ToolError unless this tool declares the sub-tool *name* and its effects.

        Approvals and verdicts on this tool rely on its declared effects. *step* is None for a tool
        that is not offered.
        """
        if name in self.composed_of:
            beyond = (step.effects - self.effects) & OUTWARD if step is not None else frozenset()
            if beyond:
                effects = f"it does not declare that it can {' and '.join(sorted(beyond))}"
                problem = f"{self.name} may not call {name!r}: {effects}"
                raise ToolError(problem, error_class="undeclared_effect")
        elif ANY_TOOL not in self.composed_of:
            declared = ", ".join(self.composed_of) or "none"
            raise ToolError(f"{self.name} may not call {name!r}; it declares: {declared}")
        elif step is not None and ANY_TOOL in step.composed_of:
            problem = f"{self.name} may not call {name!r}, which calls other tools itself"
            raise ToolError(f"{problem}; call it directly", error_class="nested_call")

    def real(self) -> "Tool[..., Any]":
        """Return the tool with its handler, importing its plugin if necessary."""
        return self.load() if self.load is not None else self

    def owned(self, plugin: str, version: str) -> "Tool[P, R]":
        """Return this tool with its owner set."""
        return evolve(self, plugin=plugin, version=version)

    def invoke(self, ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
        """Run the handler with checked arguments; its exceptions pass through."""
        handler: Callable[..., Any] = self.handler
        value = handler(ctx=ctx, **arguments) if takes_context(handler) else handler(**arguments)
        # By the result: a decorator may hide that a handler is `async def`.
        if hasattr(value, "__await__"):
            value = wait_for(value, ctx.cancelled)
        return as_result(value, self.name)


Tools = dict[str, Tool[..., Any]]


def takes_context(function: Callable[..., Any]) -> bool:
    """Return True if a handler has a parameter called ctx."""
    code = getattr(function, "__code__", None)
    count = code.co_argcount + code.co_kwonlyargcount if code else 0
    return code is not None and "ctx" in code.co_varnames[:count]


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    *,
    name: str = ...,
    description: str = ...,
    risk: Risk | str = ...,
    effects: Iterable[Effect] = ...,
    composed_of: Iterable[str] = ...,
    single_confirmation: bool = ...,
    transactional: bool = ...,
    timeout_s: float | None = ...,
    confirm: Callable[[Mapping[str, Any]], bool] | None = ...,
    only_reads: Callable[[Mapping[str, Any]], bool] | None = ...,
    examples: Iterable[Mapping[str, Any]] = ...,
    repeatable: bool = ...,
    always_listed: bool = ...,
    in_plan: bool = ...,
    commands: Iterable[str] = ...,
    needs: Iterable[str] = ...,
    short: str = ...,
    parameters: type | None = ...,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(function: Callable[..., Any] | None = None, /, **fields: Any) -> Any:
    """Make a tool of a function; the model reads its name, docstring and signature.

    *parameters* is an attrs class for larger parameter sets; the handler then takes its fields as
    keyword arguments.
    """
    if function is None:
        return lambda handler: _make(handler, fields)
    return _make(function, fields)


def _make(function: Callable[P, R], fields: Mapping[str, Any]) -> Tool[P, R]:
    options = dict(fields)
    parameters = options.pop("parameters", None)
    signature = Signature.of_class(parameters) if parameters else Signature.of_function(function)
    name = options.pop("name", "") or function.__name__
    description = options.pop("description", "") or _unwrapped(function.__doc__ or "")
    is_word = name.isascii() and name.isidentifier() and name.islower() and name[0] != "_"
    if not is_word or len(name) > MAX_NAME_CHARS:
        problem = f"{name!r} is not a tool name; use lower-case letters, digits and _"
        raise PluginError(function.__module__, problem)
    return Tool(
        name=name, description=description, handler=function, signature=signature, **options
    )


def _unwrapped(docstring: str) -> str:
    """Join the lines of each paragraph of a docstring; line breaks cost the model tokens."""
    return "\n".join(" ".join(part.split()) for part in docstring.strip().split("\n\n"))
