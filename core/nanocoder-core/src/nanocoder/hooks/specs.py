"""The hooks, in the order in which a session fires them.

An implementation takes any of the named arguments, in any order. `settings` is always the plugin's
own settings object (see `nanocoder_settings`), `session` a `SessionInfo`. `resource(name)` returns
a resource of the plugin (see `nanocoder_resources`). Plugins are called in the order of their
names; if the first answer wins, those of a lower rank (`@hookimpl(rank=10)`, 50 by default) are
called first. Each hook has one of five styles, which defines the winner and the effect of a failing
plugin:

* collect: all contribute; a failing plugin contributes nothing and is reported
* choose: the first answer that is not None wins; a failing plugin has no answer and is reported
* judge: all are called and the strictest verdict wins; a failing plugin denies
* chain: each may replace the subject; a failing plugin stops the chain and the subject is withheld
* tell: there are no answers; a failing plugin is reported

A plugin may take 60 seconds for `readable`, `before_execute`, `event`, `prompt`, `select_provider`,
`before_request` and `after_execute`. A plugin that times out once or fails five times in a session
is disabled for the rest of it, unless it is a policy or wraps tools. Its code runs on in a thread:
see `cancel`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from nanocoder.hooks import marks

if TYPE_CHECKING:
    from nanocoder_console import Command
    from nanocoder_files import PathFilter

    from nanocoder.cancel import Cancel
    from nanocoder.hooks.interfaces import Dialect, Resource, Runner, Sandbox, Screen, Store
    from nanocoder.provider import ProviderSpec, Request, Window
    from nanocoder.tools.session_info import SessionInfo
    from nanocoder.tools.tool import Tool
    from nanocoder.values import (
        ApprovalAnswer,
        ApprovalRequest,
        Event,
        Message,
        Question,
        ToolCall,
        ToolResult,
        Understood,
        Verdict,
    )

STYLES: Final = marks.STYLES
Open = Callable[[str], Any]  # a resource of the plugin, by its name

collect, choose, judge, chain, tell = map(
    marks.style, ("collect", "choose", "judge", "chain", "tell")
)


@collect
def nanocoder_settings() -> type:  # type: ignore[empty-body]
    """Return the attrs class of the plugin's settings, the table `[plugins.NAME]`.

    Called: when the plugin is described, and before the first hook that asks for `settings`.
    Results: one frozen attrs class with a default for every field.
    Raises: the plugin is disabled.
    Example: `return Settings`
    """


@collect
def nanocoder_commands() -> "list[Command[Any]]":  # type: ignore[empty-body]
    """Offer commands of the command line.

    Called: when the plugin is described; a command's `run` when somebody types it.
    Results: all are offered; the core's names win but for `doctor`; two of one name are refused.
    Raises: the plugin offers no command and is reported.
    Example: `return [Command("greet", "say hello", run_greet, (Argument("name", "to whom"),))]`
    """


@collect
def nanocoder_providers() -> "list[ProviderSpec]":  # type: ignore[empty-body]
    """Offer models, by the name before the slash of `--model name/model`.

    Called: when the plugin is described; a spec's `open` when its provider is chosen.
    Results: all are offered; two of one name are refused.
    Raises: the plugin offers no provider and is reported.
    Example: `return [ProviderSpec("acme", open_acme, key_variables=("ACME_KEY",))]`
    """


@collect
def nanocoder_tools(  # type: ignore[empty-body]
    tools: "Mapping[str, Tool[..., Any]]", settings: Any, trusted_folder: Any
) -> "list[Tool[..., Any]]":
    """Offer tools, wrap those of others, or make some that depend on the configuration.

    An implementation without arguments offers tools. One that takes *tools* gets all tools on offer
    by name, and returns those that it replaces: each keeps its name, has at least the same effects
    and risk. It may add tools that it owns (`tool.owned(plugin, version)`); *trusted_folder* is the
    session's directory if it is trusted. It runs only if its plugin has a table of settings.

    Called: when the plugin is described, and at its first call; with *tools*, in each session.
    Results: all are offered; of two with one name the one in `[tools.owner]` wins, or the older.
    Raises: the plugin offers no tool and is reported; with *tools*, nanocoder does not start.
    Example: `return [count_lines]`
    """


@collect
def nanocoder_dialects() -> "list[Dialect]":  # type: ignore[empty-body]
    """Offer dialects: other names, parameters and texts for the same tools.

    Called: when the plugin is described, and when a run asks for one of its dialects.
    Results: all are offered, by name.
    Raises: the plugin offers no dialect and is reported.
    Example: `return [TutorialDialect()]`
    """


@collect
def nanocoder_sandboxes() -> "list[Sandbox]":  # type: ignore[empty-body]
    """Offer ways to run processes with fewer rights.

    Called: when the plugin is described, and when the configuration asks for one of its sandboxes.
    Results: the configured one is used; one that is asked for and missing refuses every process.
    Raises: the plugin offers no sandbox and is reported.
    Example: `return [Sandbox("bwrap", in_force=check_bwrap)]`
    """


@collect
def nanocoder_resources() -> "list[Resource]":  # type: ignore[empty-body]
    """Offer resources that stay open for one session.

    A tool gets one by `ctx.resource(name)`, a hook by its argument *resource*.

    Called: when the plugin is described, and at the first use of one of its resources in a session.
    Results: each resource belongs to its plugin; names need to be unique within it only.
    Raises: the call that needs the resource fails.
    Example: `return [Resource("jobs", open_jobs)]`
    """


@collect
def nanocoder_screens() -> "list[Screen]":  # type: ignore[empty-body]
    """Offer ways to show a session, by the name that `--output` takes.

    Called: when the plugin is described; a screen's `open` when a run asks for it.
    Results: the one that is asked for opens; "text" is used on a terminal, plain text otherwise.
    Raises: the plugin offers no screen and is reported.
    Example: `return [Screen("json", open_json)]`
    """


@collect
def nanocoder_stores() -> "list[Store]":  # type: ignore[empty-body]
    """Offer session stores, by the name that the setting `store` takes.

    Called: when the plugin is described; a store's `open` when a session starts or is looked for.
    Results: the configured one is used. Without any, sessions exist in memory only.
    Raises: the plugin offers no store and is reported; a store that does not open ends the start.
    Example: `return [Store("archive", lambda environment, settings, warn: Archive(settings.url))]`
    """


@collect
def nanocoder_runners() -> "list[Runner]":  # type: ignore[empty-body]
    """Offer ways to run many jobs in parallel, by the name that `nanocoder batch --runner` takes.

    Called: when the plugin is described; a runner's `run` when somebody starts a batch.
    Results: the one that is asked for does the jobs; two of one name are refused.
    Raises: the plugin offers no runner and is reported.
    Example: `return [Runner("queue", run_in_queue)]`
    """


@choose
def nanocoder_select_provider(
    session: "SessionInfo", settings: Any, failed: Sequence[str]
) -> str | None:
    """Choose the model of a session that names none, or one in place of a model that failed.

    A model is written "provider/model". *failed* holds the models that could not answer the
    current request, the latest last; it is empty when the session has no model yet.

    Called: once per session, when neither flag, environment nor configuration names a model; and
    when a request failed because its model was overloaded, limited, unreachable or too small.
    Results: the first answer wins; without one the core takes the first usable provider by rank,
    or the run ends with the error. The next prompt goes to the session's own model again.
    Raises: counts as no answer and is reported.
    Example: `return next((model for model in settings.models if model not in failed), None)`
    """


@tell
def nanocoder_event(event: "Event", session: "SessionInfo", settings: Any, resource: Open) -> None:
    """Observe an event.

    `session.started` is the first event of a session, `session.finished` the last. Events of a
    sub-agent come between them, with its own *session*, which has a `parent`.

    Called: for every event, or for those of the kinds that `@hookimpl(events=…)` names, which costs
    less, as "call.started", or "call.started:execute": from tools with that effect; in order, one
    at a time; pieces of a reply are joined for 0.1 s.
    Results: none.
    Raises: is reported once per plugin; the session goes on.
    Example: `if event.kind == "call.finished": log(event.data)`
    """


@collect
def nanocoder_prompt(session: "SessionInfo", settings: Any) -> str | None:
    """Add lines to the system prompt.

    Called: once per session, before its first request.
    Results: all texts are joined in the order of the plugins' names.
    Raises: the plugin adds nothing and is reported.
    Example: `return "Write commit messages in the imperative."`
    """


@chain
def nanocoder_before_request(
    request: "Request", session: "SessionInfo", settings: Any, resource: Open
) -> "Request | None":
    """Observe or replace the request that is about to be sent to the model.

    Called: once per request, after it was assembled.
    Results: each implementation gets what the one before it returned; None changes nothing.
    Raises: the request is not sent, and the run fails; a StopRun ends it for its own reason.
    Example: `return attrs.evolve(request, temperature=0.0)`
    """


@choose
def nanocoder_compact(
    window: "Window",
    reason: str,
    focus: str,
    ask_model: "Callable[[str, Sequence[Message]], str]",
    tools: "Mapping[str, Tool[..., Any]]",
    session: "SessionInfo",
    settings: Any,
    resource: Open,
) -> "Sequence[Message] | None":
    """Shorten the transcript before it outgrows the model's context window.

    *window* has the request as it would be sent now, *focus* names topics that a person wants to
    keep. *tools* are all tools by name.
    `ask_model(system, messages)` asks the session's model; raises ProviderError or Cancelled.

    Called: before each request is sent, where the plugin decides by the sizes (*reason* ""); after
    one that the model refused as too long ("overflow"), or for its pictures and other files
    ("refused"); when a person asks for it ("asked").
    Results: the first shorter answer replaces the transcript; each call must keep its result, and
    the last message should stay. The journal keeps what was replaced; the request is put together
    anew and passes `nanocoder_before_request` again.
    Raises: counts as no answer and is reported.
    Example: `return summarised(window.request.messages) if is_full(window) else None`
    """


@judge
def nanocoder_readable(
    tools: "Mapping[str, Tool[..., Any]]", session: "SessionInfo", settings: Any
) -> "PathFilter | None":
    """Return a filter of the paths that may not be read, or only after approval.

    This applies wherever a file is opened or a folder is walked: to every tool, to attachments and
    to sub-agents. Searches skip refused files and say how many. *tools* are all tools by name.
    `session.readable` combines the answers of all policies. The filter also has the paths that are
    read-only for commands.

    Called: before the first file is opened, and again when the session, the tools or the settings
    change; the filter is then asked about each path, from any thread.
    Results: a path that one filter refuses is refused; None refuses nothing.
    Raises: counts as refusing every path. A policy that breaks never opens a file.
    Example: `return Payroll() if session.agent == "review" else None`
    """


@choose
def nanocoder_understand(
    call: "ToolCall", tools: "Mapping[str, Tool[..., Any]]", session: "SessionInfo", settings: Any
) -> "Understood | None":
    """Correct a call that names no tool of *tools* or whose arguments do not fit.

    Called: once per call, before its arguments are checked and any policy judges it.
    Results: the first answer is checked and judged in place of the call; its remarks are appended
    to the result for the model. With None the call stays as it is.
    Raises: counts as no answer and is reported.
    Example: `return Understood("bash", call.arguments) if call.name == "shell" else None`
    """


@judge
def nanocoder_before_execute(
    call: "ToolCall", tool: "Tool[..., Any]", session: "SessionInfo", settings: Any, resource: Open
) -> "Verdict | None":
    """Judge one call before it runs.

    Called: once per call, after its arguments were checked, and again when a person edited or
    approved them, or a policy rewrote them, with `edited` set: such a call is counted already.
    Results: the strictest verdict wins, with all obligations; None: no opinion, abstain: a remark.
    Raises: counts as deny. A policy that breaks never opens the gate.
    Example: `return Verdict(Decision.DENY, "main is protected") if pushes_to_main(call) else None`
    """


@choose
def nanocoder_render(
    call: "ToolCall",
    tool: "Tool[..., Any]",
    result: "ToolResult | None",
    session: "SessionInfo",
    settings: Any,
) -> str | None:
    """Describe for a person, in plain text, what a call would do (*result* is None) or did.

    Called: for the preview of every approval, and by screens that show a result.
    Results: the first answer wins; without one the arguments, or the output, are shown as they are.
    Previews have 10 seconds together; a late plugin is reported, and skipped for that tool then.
    Raises: counts as no answer and is reported. A ToolError from the tool's own plugin says that
    the call cannot work: the model reads it, and the person is not asked. So only read, and do not
    use the network. If a rule asks, the person is asked anyway and told that the call will fail.
    Example: `return f"deploys {call.arguments['service']}" if call.name == "deploy" else None`
    """


@choose
def nanocoder_approve(
    request: "ApprovalRequest", session: "SessionInfo", settings: Any, cancelled: "Cancel"
) -> "ApprovalAnswer | None":
    """Ask a person for approval and return the answer, with the request's id and digest.

    Called: once per call that needs consent, from one thread at a time.
    Results: the first answer wins; no answer, one after `request.timeout_s` seconds or one that
    echoes something else is a refusal. An implementation gives up by then, and as soon as
    `cancelled` is set (`cancelled.on_set` wakes it): nothing runs meanwhile.
    Raises: counts as no answer and is reported.
    Example: `return ApprovalAnswer(request.id, request.digest, approved=ask_on_the_phone(request))`
    """


@choose
def nanocoder_ask(
    question: "Question", session: "SessionInfo", settings: Any, cancelled: "Cancel"
) -> str | None:
    """Ask the person a tool's question and return the answer: a choice, or their own words.

    Called: once per question, in sessions with a person, from one thread at a time.
    Results: the first answer wins; None means that the person gave none. An implementation gives
    up after the question's `timeout_s`, and as soon as `cancelled` is set.
    Raises: counts as no answer and is reported.
    Example: `return ask_on_the_phone(question.text, question.choices, question.timeout_s)`
    """


@chain
def nanocoder_after_execute(
    result: "ToolResult",
    call: "ToolCall",
    tool: "Tool[..., Any]",
    session: "SessionInfo",
    settings: Any,
    resource: Open,
) -> "ToolResult | None":
    """Observe or replace a result before the model reads it: redact, clip, annotate.

    Called: once per call that ran, successful or not, and per call that its preview refused.
    Results: each implementation gets what the one before it returned; None changes nothing. With a
    new `output` the old `data` is dropped; set both to keep both.
    Raises: the result is withheld; the model reads an error that names the plugin.
    Example: `return attrs.evolve(result, output=redact(result.output))`
    """


GATES: Final = frozenset(hook for hook, style in STYLES.items() if style in {"judge", "chain"})
"""A plugin with one of these hooks is never lazy and never optional."""


def guess_description(source: str) -> dict[str, Any]:
    """Return the hooks without which others are less safe, as *source* looks like having them."""
    wraps = re.search(r"def nanocoder_tools\([^)]*\btools\b", source)
    hooks = {"nanocoder_tools": ["tools"]} if wraps else {}
    return {"policy": any(gate in source for gate in GATES), "hooks": hooks}
