"""The front door of a package: its public names, each loaded when it is first used.

It imports `sys` alone, which Python loads itself: the command line comes in here before it has
taken folders out of the search path that a workspace could supply modules by.
"""

import sys


def front_door(package: str) -> tuple[list[str], object, object]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package that loads names at first use.

    The stub beside it is the list of its names, for type checkers, too; each line says where one
    lives: `from MODULE import NAME as NAME`.
    """
    spec = sys.modules[package].__spec__
    # Read by the loader, because the package may be in a zip file.
    stub = spec.loader.get_data(f"{spec.submodule_search_locations[0]}/__init__.pyi")  # type: ignore[union-attr,index]
    lines = (line.split() for line in stub.decode().splitlines())
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
