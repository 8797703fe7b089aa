"""The capabilities of a plugin: access to files, network, programs and variables."""

import re
from collections.abc import Iterable
from typing import Final, Self

from attrs import field, frozen
from nanocoder import did_you_mean

KINDS: Final = ("fs.read", "fs.write", "exec", "net:HOST", "env:NAME")
PLAIN: Final = frozenset({"fs.read", "fs.write", "exec"})
ANY: Final = "*"
HOST: Final = re.compile(r"(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SENTENCES: Final = {
    "fs.read": "read files of the workspace",
    "fs.write": "change files of the workspace",
    "exec": "start programs",
}


@frozen
class Capabilities:
    """A set of capabilities, each written as in `nanocoder-plugin.toml`.

    `net:*` matches every host, `net:*.example.org` all subdomains, `env:*` every variable.
    """

    names: frozenset[str] = field(default=frozenset())

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Return the capabilities *names*; raises ValueError that names an invalid one."""
        texts = list(names)
        for text in texts:
            if problem := _problem(text):
                raise ValueError(problem)
        return cls(frozenset(texts))

    def __str__(self) -> str:
        return ", ".join(sorted(self.names)) or "none"

    def __contains__(self, name: str) -> bool:
        return _is_covered(name, self.names)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that may be reached, "*" for all of them."""
        return self._after("net:")

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables that may be read, "*" for all of them."""
        return self._after("env:")

    def beyond(self, agreed: "Capabilities") -> tuple[str, ...]:
        """Return the capabilities that *agreed* does not cover, sorted."""
        return tuple(sorted(name for name in self.names if name not in agreed))

    def sentences(self) -> list[str]:
        """Return a sentence for each capability."""
        return [sentence_of(name) for name in sorted(self.names)]

    def _after(self, prefix: str) -> tuple[str, ...]:
        texts = (name.removeprefix(prefix) for name in self.names if name.startswith(prefix))
        return tuple(sorted(texts))


NONE: Final = Capabilities()


def sentence_of(name: str) -> str:
    """Return a capability in words."""
    kind, _, detail = name.partition(":")
    if kind == "net":
        return "reach any host" if detail == ANY else f"reach {detail}"
    if kind == "env":
        return "read any variable" if detail == ANY else f"read the variable {detail}"
    return SENTENCES[name]


def _problem(text: object) -> str:
    if not isinstance(text, str):
        return f"{text!r:.60} is no capability: expected a text such as {KINDS[0]!r}"
    kind, colon, detail = text.partition(":")
    form = {"net": HOST, "env": VARIABLE}.get(kind)
    if form is None or not colon:
        hint = did_you_mean(text, PLAIN)
        kinds = ", ".join(KINDS)
        is_known = text in PLAIN
        return "" if is_known else f"{text!r:.60} is no capability{hint}; there are {kinds}"
    if detail == ANY or form.fullmatch(detail):
        return ""
    expected = "a host name in lower case" if kind == "net" else "the name of a variable"
    return f"{text!r:.80} is no capability: {detail!r:.60} is not {expected}, nor *"


def _is_covered(name: str, agreed: frozenset[str]) -> bool:
    kind, _, detail = name.partition(":")
    if name in agreed or f"{kind}:{ANY}" in agreed:
        return True
    if kind != "net" or detail == ANY:
        return False
    above = (other.removeprefix("net:*") for other in agreed if other.startswith("net:*."))
    return any(detail.endswith(suffix) for suffix in above)
