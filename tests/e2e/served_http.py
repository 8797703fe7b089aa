"""`nanocoder mcp serve` over HTTP, as a process of its own."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

TOKEN = "a-token-of-the-test"


@contextmanager
def served(
    nanocoder: Sequence[str], tools: str, cwd: Path, environment: Mapping[str, str]
) -> Iterator[str]:
    """Serve *tools* at a free port, to clients with the token; provides the address."""
    command = [*nanocoder, "mcp", "serve", "--http", "0", "--tools", tools]
    variables = {**environment, "NANOCODER_MCP_TOKEN": TOKEN}
    with subprocess.Popen(
        command, cwd=cwd, env=variables, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            line = ""
            while "serving at" not in line:
                line = process.stderr.readline() if process.stderr else ""
                assert line, "the server ended"
            yield line.split("serving at ")[1].split(",")[0]
        finally:
            process.terminate()
            process.wait(20)
