"""Lazy exports: the public names of a package, each loaded at its first use.

This imports only `sys`, which Python loads itself: the command line uses it before it has removed
untrusted directories from the module search path.
"""

import sys


def lazy_exports(package: str) -> tuple[list[str], object, object]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package that loads names at first use.

    The stub file of the package lists its names, for type checkers, too, one on each line:
    `from MODULE import NAME as NAME`.
    """
    spec = sys.modules[package].__spec__
    # Read with the loader, because the package may be in a zip file.
    stub = spec.loader.get_data(f"{spec.submodule_search_locations[0]}/__init__.pyi")  # type: ignore[union-attr,index]
    lines = map(str.split, stub.decode().splitlines())
    homes = {words[3]: words[1] for words in lines if words[:1] == ["from"]}
    public = sorted(homes)

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(homes[name]), name)
        vars(sys.modules[package])[name] = value
        return value

    return public, load, lambda: public
