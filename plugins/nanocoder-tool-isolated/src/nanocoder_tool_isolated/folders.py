"""A folder with a `tools.toml`: tools of a program in any language."""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from nanocoder import Effect, Risk, did_you_mean
from nanocoder_kit_process import SYSTEM_PATH, find_program
from nanocoder_kit_process.capabilities import Capabilities

FILE: Final = "tools.toml"
API: Final = 1
MAX_BYTES: Final = 262_144
MAX_DESCRIPTION_CHARS: Final = 4_096
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
KEYS: Final = ("api", "command", "capabilities", "tools")
TOOL_KEYS: Final = ("name", "description", "risk", "effects", "parameters")
NEEDED: Final[Mapping[str, str]] = {"fs.write": "write", "exec": "execute", "net": "network"}
"""The effect that a tool has at least, by the capability of its program."""


@frozen
class Program:
    """The content of a tools.toml: the argv, the capabilities and the tools of a program."""

    command: Sequence[str]
    capabilities: Capabilities
    tools: Sequence[Mapping[str, Any]]


def read_folder(folder: Path) -> Program:
    """Parse the tools.toml in *folder*; raises ValueError that names the problem."""
    try:
        data = (folder / FILE).read_bytes()
    except OSError as error:
        raise ValueError(f"{FILE} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise ValueError(f"{FILE} has more than {MAX_BYTES:,} bytes")
    table = tomllib.loads(data.decode())
    _refuse_unknown(table, KEYS)
    if table.get("api") != API:
        raise ValueError(f"api is {table.get('api')!r:.40}; this version reads api = {API}")
    capabilities = Capabilities.of(table.get("capabilities", []))
    effects = {
        NEEDED[name.partition(":")[0]]
        for name in capabilities.names
        if name.partition(":")[0] in NEEDED
    }
    tools = [_tool(each, effects) for each in table.get("tools", [])]
    if not tools:
        raise ValueError("it has no [[tools]]")
    return Program(_command(table.get("command"), folder), capabilities, tools)


def _command(words: Any, folder: Path) -> list[str]:
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise ValueError('command is missing; write for example command = ["node", "tool.js"]')
    if "/" in words[0]:
        program = str(folder / words[0])
    else:
        # The process does not see a home, and a version manager's script there starts others.
        path = os.environ.get("PATH", SYSTEM_PATH)
        program = find_program(words[0], path, Path.home()) or find_program(words[0], path)
    if not program or not os.access(program, os.X_OK):
        raise ValueError(f"there is no program {words[0]!r}")
    # A word that names a file of the folder means that file, wherever the process works.
    rest = (str(folder / word) if (folder / word).is_file() else word for word in words[1:])
    return [os.path.abspath(program), *rest]


def _tool(table: Any, needed: set[str]) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise ValueError("tools: expected tables, as in [[tools]]")  # noqa: TRY004 - of the file
    _refuse_unknown(table, TOOL_KEYS)
    name, description = table.get("name"), table.get("description")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"{name!r:.80} is not a tool name; use lower-case letters, digits and _")
    if not isinstance(description, str) or not 0 < len(description) <= MAX_DESCRIPTION_CHARS:
        raise ValueError(f"{name}: description: expected 1 to {MAX_DESCRIPTION_CHARS:,} characters")
    if not all(letter.isprintable() or letter in "\n\t" for letter in description):
        raise ValueError(f"{name}: description: it has invisible characters")
    parameters = table.get("parameters", {"type": "object", "properties": {}})
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        raise ValueError(f'{name}: parameters: expected a JSON Schema with type = "object"')
    effects = {str(Effect(effect)) for effect in table.get("effects", [])} | needed
    # The capabilities bound the risk that the file may state.
    risk = Risk(table.get("risk", "dangerous" if needed else "medium"))
    if needed & {"execute", "network"} and risk is Risk.SAFE:
        raise ValueError(f"{name}: risk is safe, and its program may start programs or use hosts")
    return {
        "name": name,
        "description": description,
        "risk": risk,
        "effects": effects or {"read"},
        "parameters": parameters,
    }


def _refuse_unknown(table: Mapping[str, Any], keys: Sequence[str]) -> None:
    for key in table:
        if key not in keys:
            raise ValueError(f"there is no key {key!r}{did_you_mean(key, keys)}")
