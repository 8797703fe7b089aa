"""Confidence intervals and paired tests for shares of solved tasks."""

import math
import random
from collections.abc import Sequence
from typing import Final

Z_95: Final = 1.959963984540054
DRAWS: Final = 2_000
SEED: Final = 20_250_101


def wilson(solved: float, total: int, z: float = Z_95) -> tuple[float, float]:
    """Return Wilson's interval for a share, 95 % by default; (0, 1) for no tasks."""
    if not total:
        return 0.0, 1.0
    share = solved / total
    scale = 1 + z * z / total
    middle = (share + z * z / (2 * total)) / scale
    width = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / scale
    return max(0.0, middle - width), min(1.0, middle + width)


def bootstrap(values: Sequence[float], draws: int = DRAWS) -> tuple[float, float]:
    """Return the 95 % interval of the mean of *values*, by drawing from them again and again.

    The draws are the same each time. Tasks are drawn, not runs: runs of one task are alike.
    """
    if not values:
        return 0.0, 0.0
    chance, count = random.Random(SEED), len(values)  # noqa: S311 - a repeatable draw, no secret
    means = sorted(sum(chance.choices(values, k=count)) / count for _ in range(draws))
    return means[int(0.025 * draws)], means[int(0.975 * draws)]


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p of McNemar's test for tasks that only one of two solved."""
    differing = only_first + only_second
    if not differing:
        return 1.0
    less = min(only_first, only_second)
    ways = sum(math.comb(differing, solved) for solved in range(less + 1))
    return min(1.0, math.ldexp(ways, 1 - differing))
