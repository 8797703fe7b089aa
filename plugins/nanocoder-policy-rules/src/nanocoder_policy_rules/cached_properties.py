"""Properties that are worked out once: `functools.cached_property`, without its lock.

Before Python 3.12 that takes a lock at each first use, one for all objects of a class. A call has
dozens of such properties, and the calls of other sessions would wait for each.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 - it takes the place of the class with this name
        """A property whose value stays in the object."""

        def __init__(self, function: Callable[[Any], object]) -> None:
            self._function: Final = function
            self.__doc__ = function.__doc__

        def __set_name__(self, _owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: object, _owner: type | None = None) -> object:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._function(instance)
            return value
