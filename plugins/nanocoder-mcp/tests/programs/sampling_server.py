"""A server of the official SDK that asks its client's model: `ask` passes a question on.

It speaks the newest revision, in which a result that needs more asks for it.
"""

import anyio
import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

QUESTION = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def list_tools(_ctx, _params):
    """List the tool."""
    tool = mcp_types.Tool(name="ask", description="Ask the model.", input_schema=QUESTION)
    return mcp_types.ListToolsResult(tools=[tool])


async def call_tool(ctx, params):
    """Ask, and return the answer."""
    if params.input_responses:
        answer = params.input_responses["answer"].content.text
        text = mcp_types.TextContent(type="text", text=f"the model says: {answer}")
        return mcp_types.CallToolResult(content=[text])
    if ctx.session.client_capabilities.sampling is None:
        text = mcp_types.TextContent(type="text", text="no answer: nobody samples")
        return mcp_types.CallToolResult(content=[text])
    text = mcp_types.TextContent(type="text", text=params.arguments["text"])
    wanted = mcp_types.CreateMessageRequestParams(
        messages=[mcp_types.SamplingMessage(role="user", content=text)],
        max_tokens=50,
        system_prompt="Be brief.",
    )
    request = mcp_types.CreateMessageRequest(params=wanted)
    return mcp_types.InputRequiredResult(input_requests={"answer": request})


async def main():
    """Serve on the standard streams."""
    server = Server("sampling", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main)
