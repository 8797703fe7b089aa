"""The base exceptions of all packages, and short descriptions of wrong values."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

SHOWN_CHARS = 60


class NanocoderError(Exception):
    """The root of the tree; never raised itself."""

    error_class: str = "failed"


class PersonError(NanocoderError):
    """An error that only a person can fix; ends the command with its exit code."""

    exit_code: ClassVar[int] = 1


class UsageError(PersonError):
    """The command line, or an argument of the Python API, is invalid."""

    error_class = "usage"
    exit_code = 2

    def __init__(self, message: str, *, error_class: str = "") -> None:
        super().__init__(message)
        self.error_class = error_class or self.error_class


class ConfigError(PersonError):
    """A configuration file or an environment variable is invalid; the message names it."""

    error_class = "configuration"
    exit_code = 2


class ToolError(NanocoderError):
    """A tool failed; the model reads the message.

    Plugins raise this with an *error_class* of their own if none below fits; *data* has structured
    details.
    """

    error_class = "tool_failed"

    def __init__(
        self, message: str, *, error_class: str = "", data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        if error_class:  # a plugin's own kind of error may have a property of this name
            self.error_class = error_class
        self.data: dict[str, Any] = dict(data or {})


class BadArguments(ToolError):
    """The arguments do not fit the schema; *problems* has a line for each."""

    error_class = "invalid_arguments"

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems), data={"problems": list(problems)})
        self.problems = tuple(problems)


class WrongType(ValueError):
    """A value of the wrong type; *expected* names the right one."""

    def __init__(self, expected: str, value: Any, *, hint: str = "") -> None:
        text = f"expected {expected}, got {show(value)}"
        super().__init__(f"{text} ({hint})" if hint else text)
        self.expected = expected
        self.hint = hint


def show(value: Any) -> str:
    """Return a short form of a JSON value: scalars as they are, others by kind."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value) if len(value) <= SHOWN_CHARS else f"{value[:SHOWN_CHARS]!r}…"
    if isinstance(value, int) and abs(value) >= 10**SHOWN_CHARS:
        return "a huge number"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"


def problem_of(error: BaseException, module: str = "") -> str:
    """Return one line about an exception for a person, with the failing line of *module*.

    That is the innermost one in the package of *module*.
    """
    text = text_of_error(error)
    if isinstance(error, NanocoderError) and text:
        return text
    if isinstance(error, SyntaxError) and error.filename:
        # Its own text has only the file's name, which many files share.
        text = f"{error.msg} ({error.filename}, line {error.lineno})"
    line = " ".join(text[:2_000].split())  # a plugin's text may be very long
    problem = f"{type(error).__name__}: {line}" if line else type(error).__name__
    return problem + _place_in(str(module).partition(".")[0], error)


def _place_in(package: str, error: BaseException) -> str:
    """Return the file and line in *package* that raised *error*; "" if there is none."""
    place, trace = "", error.__traceback__
    while package and trace is not None:
        frame, line, trace = trace.tb_frame, trace.tb_lineno, trace.tb_next
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package:
            # Without its directories, which reveal the person's paths to a model.
            place = f" ({'/'.join(frame.f_code.co_filename.split('/')[-2:])}:{line})"
    return place


def text_of_error(error: BaseException) -> str:
    """Return the text of *error*, "" if formatting it fails."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - its own code may do anything there
        return ""
