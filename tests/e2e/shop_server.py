"""An MCP server with two tools, each of which leaves a file in the directory that it runs in."""

import json
import sys
from pathlib import Path

NOTHING = {"type": "object", "properties": {}}
TOOLS = [{"name": name, "description": name, "inputSchema": NOTHING} for name in ("buy", "look")]
FILES = {"buy": "bought", "look": "looked"}


def answer(request):
    """Return the result of one request, None for a method that is not there."""
    parameters = request.get("params") or {}
    if request["method"] == "initialize":
        version = {"protocolVersion": parameters["protocolVersion"]}
        return {
            **version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shop", "version": "1"},
        }
    if request["method"] == "tools/list":
        return {"tools": TOOLS}
    if request["method"] == "tools/call":
        with Path(FILES[parameters["name"]]).open("a") as file:
            file.write("yes")
        return {"content": [{"type": "text", "text": "done"}]}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request)
        error = {"error": {"code": -32601, "message": "Method not found"}}
        outcome = error if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}), flush=True)
