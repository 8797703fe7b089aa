"""The floor: the least a Python program needs to ask once through httpx and print the answer."""

import json
import sys

import httpx


def main() -> None:
    """Ask the server at argv[1] and print its text."""
    message = {"role": "user", "content": sys.argv[2]}
    # The scripted model takes a request without tools for one that asks for a summary.
    body = {"model": "m", "stream": True, "messages": [message], "tools": [{}]}
    with (
        httpx.Client(timeout=60) as client,
        client.stream("POST", sys.argv[1], json=body) as response,
    ):
        for line in response.iter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    sys.stdout.write(choice["delta"].get("content", ""))


main()
