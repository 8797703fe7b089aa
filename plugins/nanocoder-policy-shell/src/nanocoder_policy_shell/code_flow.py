"""Code that a command runs and no person can read: from the network, or encoded."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from nanocoder_policy_shell import programs
from nanocoder_policy_shell.syntax import TooLongError, descendants, parse, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH: Final = 3
_SUBSTITUTIONS: Final = frozenset(("command_substitution", "process_substitution"))
_CODE_OPTIONS: Final = frozenset(("-c", "-e", "-E", "-r", "-p", "-m", "--eval", "--print"))
_WITH_VALUE: Final = frozenset(("--rcfile", "--init-file", "-X", "-W"))
_FED: Final = frozenset(("xargs", "parallel"))  # what they read becomes arguments of the program
_INPUT: Final = frozenset(("-", "-s", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_INPUT_REDIRECTIONS: Final = frozenset(("file_redirect", "herestring_redirect"))


def unread_code(root: "Node", depth: int = 0) -> "Iterator[tuple[str, Node]]":
    """Yield the kind and the node of each command that runs code which is not in the text."""
    for node in descendants(root):
        if node.type == "pipeline":
            yield from ((kind, node) for kind in _code_of_pipe(node))
        elif node.type == "command":
            yield from ((kind, node) for kind in _code_of_arguments(node, depth))
        elif node.type == "redirected_statement":
            yield from ((kind, node) for kind in _code_of_input(node))


def _code_of_pipe(pipeline: "Node") -> Iterator[str]:
    """Yield what an interpreter reads from the programs before it."""
    stages = [child for child in pipeline.children if child.is_named]
    for at, stage in enumerate(stages):
        if any(_reads_code(command) for command in _commands(stage)):
            yield from _origins(stages[:at])


def _code_of_arguments(command: "Node", depth: int) -> Iterator[str]:
    """Yield what a command takes from other commands, and runs."""
    words = programs.words_of(command)
    if words and words[0].type == "command_name":
        yield from _origins(_substitutions([words[0]]))
    at = programs.runner_at(words)
    if at < 0:
        return
    arguments = words[at + 1 :]
    is_eval = programs.name_of(text_of(words[at])) in programs.EVALUATING
    if is_eval:
        code = arguments
    else:
        is_shell = programs.is_shell(text_of(words[at]))
        options = [text_of(word) for word in arguments]
        flags = [at for at, option in enumerate(options) if _is_code_option(option, is_shell)]
        after = arguments[flags[0] + 1 :] if flags else arguments
        code = [word for word in after if not text_of(word).startswith("-")][:1]
    yield from _origins(_substitutions(code))
    if not is_eval:
        yield from _origins(_substitutions(_inputs(command)))
    if is_eval or programs.is_shell(text_of(words[at])):
        yield from _in_text(code, depth)


def _code_of_input(statement: "Node") -> Iterator[str]:
    """Yield what a command reads from a redirection, and runs."""
    if any(_reads_code(command) for command in statement.children if command.type == "command"):
        yield from _origins(_substitutions(_inputs(statement)))


def _inputs(node: "Node") -> "list[Node]":
    redirections = [child for child in node.children if child.type in _INPUT_REDIRECTIONS]
    return [
        each for each in redirections if not text_of(each).lstrip("0123456789&").startswith(">")
    ]


def _reads_code(command: "Node") -> bool:
    """Tell whether a command runs what it reads from its input."""
    words = programs.words_of(command)
    at = programs.runner_at(words)
    if at < 0:
        return False
    arguments = [text_of(word) for word in words[at + 1 :] if not word.type.endswith("redirect")]
    if programs.name_of(text_of(words[0])) in _FED:
        return True
    if programs.name_of(text_of(words[at])) in programs.EVALUATING:
        return any(argument in _INPUT for argument in arguments)
    if any(argument in _INPUT for argument in arguments):
        return True
    is_shell = programs.is_shell(text_of(words[at]))
    has_code = any(_is_code_option(argument, is_shell) for argument in arguments)
    return not has_code and not _has_operand(arguments, is_shell=is_shell)


def _has_operand(arguments: list[str], *, is_shell: bool) -> bool:
    """Tell whether an interpreter gets a file to run, and so no code from its input."""
    is_value = False
    for argument in arguments:
        if argument[:1] not in {"-", "+"} and not is_value:
            return True
        takes_value = is_shell and argument[:2] != "--" and argument.endswith(("o", "O"))
        is_value = not is_value and (argument in _WITH_VALUE or takes_value)
    return False


def _is_code_option(argument: str, is_shell: bool) -> bool:  # noqa: FBT001 - a predicate of both
    """Tell whether code follows an option; to a shell, -lc is -l and -c."""
    is_joined = argument[:1] == "-" != argument[1:2] and argument[1:].isalpha()
    if is_shell:
        return is_joined and "c" in argument
    return argument in _CODE_OPTIONS or (is_joined and argument.endswith(("c", "e")))


def _substitutions(nodes: "list[Node]") -> "list[Node]":
    return [each for node in nodes for each in descendants(node) if each.type in _SUBSTITUTIONS]


def _origins(nodes: "list[Node]") -> Iterator[str]:
    """Yield where the output of the commands in *nodes* comes from."""
    names = {
        programs.name_of(text_of(word))
        for node in nodes
        for command in _commands(node)
        for word in _leading(programs.words_of(command))
    }
    if names & programs.DOWNLOADING:
        yield "downloaded-code"
    elif names & programs.DECODING:
        yield "decoded-code"


def _leading(words: "list[Node]") -> "list[Node]":
    """Return the words of which one is the program: all of them behind a wrapper."""
    is_wrapped = bool(words) and programs.name_of(text_of(words[0])) in programs.WRAPPERS
    return words if is_wrapped else words[:1]


def _commands(node: "Node") -> "list[Node]":
    return [each for each in descendants(node) if each.type == "command"]


def _in_text(code: "list[Node]", depth: int) -> Iterator[str]:
    """Yield what the code in quotes runs."""
    if depth >= MAX_DEPTH:
        return
    for node in code:
        text = text_of(node)
        if text[:1] not in {"'", '"'}:
            continue
        inner = text[1:-1].replace('\\"', '"') if text[0] == '"' else text[1:-1]
        try:
            yield from (kind for kind, _ in unread_code(parse(inner), depth + 1))
        except TooLongError:
            yield "syntax"
