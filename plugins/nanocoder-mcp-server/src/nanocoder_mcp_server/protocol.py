"""The requests of clients, as the official SDK passes them on, and their results."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import mcp_types
from attrs import evolve
from mcp import MCPError
from mcp.server.lowlevel import Server
from nanocoder import PersonError, Risk, Session, Tool, ToolResult, __version__

from nanocoder_mcp_server.asking import Asking
from nanocoder_mcp_server.calls import Calls, Run
from nanocoder_mcp_server.logs import Logs, client_of, outdated_allowed
from nanocoder_mcp_server.results import contents_of, messages_of, result_of
from nanocoder_mcp_server.texts import MAX_VALUES, Texts, media_type_of, without_numbers
from nanocoder_mcp_server.watching import Subscriptions

NOT_ASKED: Final = "nothing waits for an answer with this requestState; call again without it"
T = TypeVar("T")
Tools = Mapping[str, Tool[..., Any]]


def server_of(calls: Calls, tools: Tools) -> Server[Any]:
    """Return a server that offers *tools* and their resources, and passes calls to *calls*."""
    handlers = Handlers(calls, tools)
    with outdated_allowed():
        return Server(
            "nanocoder",
            version=__version__,
            on_list_tools=handlers.list_tools,
            on_call_tool=handlers.call_tool,
            on_list_resources=handlers.list_resources,
            on_list_resource_templates=handlers.list_templates,
            on_read_resource=handlers.read_resource,
            on_subscribe_resource=handlers.subscribe,
            on_unsubscribe_resource=handlers.unsubscribe,
            on_list_prompts=handlers.list_prompts,
            on_get_prompt=handlers.get_prompt,
            on_completion=handlers.complete,
            on_set_logging_level=handlers.set_level,
        )


class Handlers:
    """Handlers of the protocol's requests; the coroutines run on the server's loop."""

    def __init__(self, calls: Calls, tools: Tools) -> None:
        self._calls = calls
        self._tools = tools
        self._logs = Logs()
        self._subscriptions = Subscriptions()

    async def list_tools(self, _ctx: Any, _params: Any) -> mcp_types.ListToolsResult:
        """Return the tools that are offered."""
        return mcp_types.ListToolsResult(tools=[definition_of(t) for t in self._tools.values()])

    async def call_tool(self, ctx: Any, params: Any) -> Any:
        """Call a tool."""
        if params.name not in self._tools:
            names = ", ".join(self._tools)
            return _text(f"Unknown tool: {params.name:.200}. Tools: {names}", is_error=True)
        name, arguments = params.name, dict(params.arguments or {})
        result = await self._asked(ctx, params, lambda run: run(name, arguments))
        return result_of(result) if isinstance(result, ToolResult) else result

    async def list_resources(self, ctx: Any, params: Any) -> mcp_types.ListResourcesResult:
        """Return the readable files, and the resources of plugins."""
        listed = await self._quietly(ctx, params, lambda _: self._texts.resources())
        return mcp_types.ListResourcesResult(resources=listed)

    async def list_templates(self, _ctx: Any, _params: Any) -> Any:
        """Return the templates of resource URIs."""
        templates = self._texts.templates()
        return mcp_types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(self, ctx: Any, params: Any) -> Any:
        """Read a resource; a rule that denies it is an error."""
        uri, texts = params.uri, self._texts
        call = texts.reading(uri)
        if call is None:
            raise _no_resource(uri)
        result = await self._asked(ctx, params, lambda run: run(*call))
        if not isinstance(result, ToolResult):
            return result
        _refuse_error(result)
        path = texts.path_of(uri)
        if path is not None:
            result = evolve(result, output=without_numbers(result.output))
        contents = contents_of(result, uri, media_type_of(path or ""))
        return mcp_types.ReadResourceResult(contents=contents)

    async def subscribe(self, ctx: Any, params: Any) -> mcp_types.EmptyResult:
        """Tell the client of changes of a file; other resources of ours do not change."""
        texts = self._texts
        if texts.reading(params.uri) is None:
            raise _no_resource(params.uri)
        if path := texts.watched(params.uri):
            self._subscriptions.add(client_of(ctx), params.uri, ctx.session, path)
        return mcp_types.EmptyResult()

    async def unsubscribe(self, ctx: Any, params: Any) -> mcp_types.EmptyResult:
        """Tell the client of no more changes."""
        self._subscriptions.remove(client_of(ctx), params.uri)
        return mcp_types.EmptyResult()

    async def list_prompts(self, ctx: Any, params: Any) -> mcp_types.ListPromptsResult:
        """Return the commands and skills."""
        prompts = await self._quietly(ctx, params, self._texts.prompts)
        return mcp_types.ListPromptsResult(prompts=prompts)

    async def get_prompt(self, ctx: Any, params: Any) -> Any:
        """Return the text of a prompt."""
        name, arguments, texts = params.name, params.arguments or {}, self._texts
        try:
            result = await self._asked(
                ctx, params, lambda run: texts.prompt(name, arguments, run), many=True
            )
        except PersonError as error:
            raise MCPError(code=mcp_types.INVALID_PARAMS, message=str(error)) from error
        if result is None:
            text = f"there is no prompt {name!r:.200}"
            raise MCPError(code=mcp_types.INVALID_PARAMS, message=text)
        if not isinstance(result, ToolResult):
            return result
        _refuse_error(result)
        return mcp_types.GetPromptResult(messages=messages_of(result))

    async def complete(self, ctx: Any, params: Any) -> mcp_types.CompleteResult:
        """Return the completions of an argument."""
        argument, texts = params.argument, self._texts
        values = await self._quietly(
            ctx, params, lambda _: texts.values(params.ref, argument.name, argument.value)
        )
        completion = mcp_types.Completion(
            values=values[:MAX_VALUES], total=len(values), has_more=len(values) > MAX_VALUES
        )
        return mcp_types.CompleteResult(completion=completion)

    async def set_level(self, ctx: Any, params: Any) -> mcp_types.EmptyResult:
        """Send log messages of a level and above from now on."""
        self._logs.set_level(ctx, params.level)
        return mcp_types.EmptyResult()

    @property
    def _texts(self) -> Texts:
        session: Session | None = self._calls.session
        if session is None:
            raise RuntimeError("there is no session")
        return Texts(session, self._tools)

    async def _asked(
        self, ctx: Any, params: Any, job: Callable[[Run], T], *, many: bool = False
    ) -> T | mcp_types.InputRequiredResult:
        state = getattr(params, "request_state", None)
        if state and not self._calls.is_open(state):
            suspended: Any = self._calls.suspended(state)
            if suspended is None or not suspended.is_about(params):
                raise MCPError(code=mcp_types.INVALID_PARAMS, message=NOT_ASKED)
            resumed: T | mcp_types.InputRequiredResult = await suspended.resumed(ctx, params)
            return resumed
        asking: Asking[T] = Asking(self._calls, self._logs, ctx, params, many=many)
        return await asking.result(job)

    async def _quietly(self, ctx: Any, params: Any, job: Callable[[Run], list[T]]) -> list[T]:
        """Do a job in its turn that asks no person."""
        result = await self._asked(ctx, params, job, many=True)
        return result if isinstance(result, list) else []


def definition_of(tool: Tool[..., Any]) -> mcp_types.Tool:
    """Return a tool as clients read it, with hints that follow from its effects."""
    hints = mcp_types.ToolAnnotations(
        read_only_hint=tool.is_read_only,
        destructive_hint=tool.risk is Risk.DESTRUCTIVE,
        idempotent_hint="idempotent" in tool.effects,
        open_world_hint="network" in tool.effects,
    )
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.parameters),
        annotations=hints,
    )


def _no_resource(uri: str) -> MCPError:
    message = f"there is no resource {uri!r:.200}"
    return MCPError(code=mcp_types.INVALID_PARAMS, message=message, data={"uri": uri})


def _refuse_error(result: ToolResult) -> None:
    """Raise the error of the protocol for a call that failed, or that a rule denied."""
    if result.is_error:
        raise MCPError(code=mcp_types.INVALID_PARAMS, message=result.output)


def _text(text: str, *, is_error: bool) -> mcp_types.CallToolResult:
    content: list[Any] = [mcp_types.TextContent(type="text", text=text)]
    return mcp_types.CallToolResult(content=content, is_error=is_error)
