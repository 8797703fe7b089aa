"""Silence Dask's log on standard error; problems of tasks are in their results."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import dask

LOGGERS: Final = ("distributed", "tornado", "asyncio")
SLOW_DISK: Final = "Creating scratch directories"
FILTER: Final = f"ignore:{SLOW_DISK}"
ENVIRONMENT: Final = "distributed.nanny.pre-spawn-environ"


@contextmanager
def quiet() -> Iterator[None]:
    """Let neither this process nor the workers that it starts write logs or warnings of Dask."""
    quieten_loggers()
    # The warning comes while a worker is made, before a plugin of the worker could stop it.
    variables = {**dask.config.get(ENVIRONMENT), "PYTHONWARNINGS": FILTER}
    with warnings.catch_warnings(), dask.config.set({ENVIRONMENT: variables}):
        warnings.filterwarnings("ignore", SLOW_DISK)
        try:
            yield
        finally:
            forget_filter()  # Dask has put it into our environment, too


def quieten_loggers() -> None:
    """Let this process write nothing below a critical problem."""
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def forget_filter() -> None:
    """Take the filter away, so that the programs which a task starts do not get it."""
    if os.environ.get("PYTHONWARNINGS") == FILTER:
        del os.environ["PYTHONWARNINGS"]
