"""Find the file of the workspace that an import means."""

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import define, field

from nanocoder_tool_codemap.record import Record

SCRIPTS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")


@define
class Resolver:
    """Knows all *paths*; `resolve` finds the ones that an import means."""

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
        """Return the files that *spec* in *path* means; none for a package from outside."""
        find = _FINDERS.get(record.language, _script)
        return [file for file in find(self, path, spec) if file != path]

    def module(self, dotted: Sequence[str], near: str) -> str:
        """Return the Python file of a module, in any folder of the workspace."""
        if not dotted:
            return ""
        tail = "/".join(dotted)
        ends = (f"{tail}.py", f"{tail}/__init__.py", f"{tail}.pyi")
        candidates = [
            path
            for path in self._by_tail.get(dotted[-1], ())
            if path in ends or path.endswith(tuple(f"/{end}" for end in ends))
        ]
        if len(dotted) == 1:
            candidates = [path for path in candidates if self._is_top(path)]
        # The best candidate shares the most folders with the importing file.
        shared = {path: len(posixpath.commonprefix([path, near])) for path in candidates}
        return max(candidates, key=lambda path: (shared[path], -len(path)), default="")

    def _is_top(self, path: str) -> bool:
        """Return True if a Python file can be imported by its name alone: json.py of no package."""
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
            folder = next((folders[0] for folders in ends if folders), "")
        return [file for file in self._folders.get(folder, ()) if not file.endswith("_test.go")]


def _python(resolver: Resolver, path: str, spec: str) -> list[str]:
    module, _, names = spec.partition(":")
    dots = len(module) - len(module.lstrip("."))
    parts = [part for part in module.split(".") if part]
    folder = path.rpartition("/")[0]
    if dots:
        for _ in range(dots - 1):
            folder = folder.rpartition("/")[0]
        base = posixpath.join(folder, *parts)
        candidates = [_first(resolver, (f"{base}.py", f"{base}/__init__.py"))]
        candidates += [
            _first(resolver, (f"{base}/{name}.py", f"{base}/{name}/__init__.py"))
            for name in names.split(",")
        ]
    else:
        candidates = [resolver.module(parts, path)]
        candidates += [resolver.module([*parts, name], path) for name in names.split(",") if name]
    return [file for file in dict.fromkeys(candidates) if file]


def _script(resolver: Resolver, path: str, spec: str) -> list[str]:
    if not spec.startswith("."):
        return []
    base = posixpath.normpath(posixpath.join(path.rpartition("/")[0], spec))
    stem = base.rpartition(".")[0] if base.endswith((".js", ".jsx", ".mjs", ".cjs")) else base
    tries = [base, *(stem + end for end in SCRIPTS), *(f"{base}/index{end}" for end in SCRIPTS)]
    file = _first(resolver, tries)
    return [file] if file else []


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
        file = _first(resolver, [end for base in tries for end in (f"{base}.rs", f"{base}/mod.rs")])
        if file:
            return [file]
    return []


def _first(resolver: Resolver, tries: Iterable[str]) -> str:
    return next((path for path in tries if path in resolver.paths), "")


_FINDERS: Mapping[str, Callable[[Resolver, str, str], list[str]]] = {
    "python": _python,
    "go": _go,
    "rust": _rust,
}
