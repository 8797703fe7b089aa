"""Which file of the workspace an import means."""

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import define, field

from nanocoder_tool_codemap.record import Record

SCRIPTS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")


@define
class Resolver:
    """Knows all *paths*; `resolve` finds those that an import of one file means."""

    paths: frozenset[str]
    _by_tail: dict[str, list[str]] = field(factory=dict)
    _folders: dict[str, list[str]] = field(factory=dict)

    @classmethod
    def of(cls, paths: Iterable[str]) -> "Resolver":
        """Make one for *paths*."""
        resolver = cls(frozenset(paths))
        for path in sorted(resolver.paths):
            folder, _, name = path.rpartition("/")
            stem = folder if name == "__init__.py" else path.rpartition(".")[0]
            resolver._by_tail.setdefault(stem.rpartition("/")[2], []).append(path)
            if name.endswith(".go"):
                resolver._folders.setdefault(folder, []).append(path)
        return resolver

    def resolve(self, path: str, record: Record, spec: str) -> list[str]:
        """Return the files that *spec* in *path* means; none for what comes from outside."""
        find = _FINDERS.get(record.language, _script)
        return [one for one in find(self, path, spec) if one != path]

    def module(self, dotted: Sequence[str], near: str) -> str:
        """Return the Python file of a module, whatever folder its package lies in."""
        if not dotted:
            return ""
        tail = "/".join(dotted)
        ends = (f"{tail}.py", f"{tail}/__init__.py", f"{tail}.pyi")
        found = [
            path
            for path in self._by_tail.get(dotted[-1], ())
            if path in ends or path.endswith(tuple(f"/{end}" for end in ends))
        ]
        if len(dotted) == 1:
            found = [path for path in found if self._is_top(path)]
        # Of several, the one that shares most of its folders with the file that imports it.
        shared = {path: len(posixpath.commonprefix([path, near])) for path in found}
        return max(found, key=lambda path: (shared[path], -len(path)), default="")

    def _is_top(self, path: str) -> bool:
        """Tell whether a Python file can be imported by its name alone: json.py of no package."""
        folder, _, name = path.rpartition("/")
        if name == "__init__.py":
            folder = folder.rpartition("/")[0]
        return posixpath.join(folder, "__init__.py") not in self.paths

    def packages(self, spec: str) -> list[str]:
        """Return the Go files of the longest folder that *spec* ends with.

        The module may lie below the root; a single name is then too little, unless *spec* begins
        with a domain, as no package of the standard library does.
        """
        parts = spec.split("/")
        tails = ["/".join(parts[start:]) for start in range(len(parts))]
        folder = next((tail for tail in tails if tail in self._folders), "")
        if not folder:
            tails = tails if "." in parts[0] else tails[:-1]
            ends = (sorted(f for f in self._folders if f.endswith(f"/{tail}")) for tail in tails)
            folder = next((found[0] for found in ends if found), "")
        return [one for one in self._folders.get(folder, ()) if not one.endswith("_test.go")]


def _python(resolver: Resolver, path: str, spec: str) -> list[str]:
    module, _, names = spec.partition(":")
    dots = len(module) - len(module.lstrip("."))
    parts = [part for part in module.split(".") if part]
    folder = path.rpartition("/")[0]
    if dots:
        for _ in range(dots - 1):
            folder = folder.rpartition("/")[0]
        base = posixpath.join(folder, *parts)
        found = [_first(resolver, (f"{base}.py", f"{base}/__init__.py"))]
        found += [
            _first(resolver, (f"{base}/{name}.py", f"{base}/{name}/__init__.py"))
            for name in names.split(",")
        ]
    else:
        found = [resolver.module(parts, path)]
        found += [resolver.module([*parts, name], path) for name in names.split(",") if name]
    return [one for one in dict.fromkeys(found) if one]


def _script(resolver: Resolver, path: str, spec: str) -> list[str]:
    if not spec.startswith("."):
        return []
    base = posixpath.normpath(posixpath.join(path.rpartition("/")[0], spec))
    stem = base.rpartition(".")[0] if base.endswith((".js", ".jsx", ".mjs", ".cjs")) else base
    tries = [base, *(stem + end for end in SCRIPTS), *(f"{base}/index{end}" for end in SCRIPTS)]
    found = _first(resolver, tries)
    return [found] if found else []


def _go(resolver: Resolver, path: str, spec: str) -> list[str]:
    del path
    return resolver.packages(spec)


def _rust(resolver: Resolver, path: str, spec: str) -> list[str]:
    parts = [part for part in spec.partition("{")[0].split("::") if part]
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".rs")
    inner = folder if stem in {"mod", "lib", "main"} else posixpath.join(folder, stem)
    if parts[:1] == ["crate"]:
        top = path[: path.rfind("src/") + 3] if "src/" in path else folder
        parts, starts = parts[1:], [top]
    elif parts[:1] == ["super"]:
        parts, starts = parts[1:], [inner.rpartition("/")[0]]
    else:
        parts, starts = (parts[1:] if parts[:1] == ["self"] else parts), [inner]
    for length in range(len(parts), 0, -1):
        tail = "/".join(parts[:length])
        tries = [posixpath.join(start, tail) for start in starts]
        found = _first(resolver, [end for one in tries for end in (f"{one}.rs", f"{one}/mod.rs")])
        if found:
            return [found]
    return []


def _first(resolver: Resolver, tries: Iterable[str]) -> str:
    return next((one for one in tries if one in resolver.paths), "")


_FINDERS: Mapping[str, Callable[[Resolver, str, str], list[str]]] = {
    "python": _python,
    "go": _go,
    "rust": _rust,
}
