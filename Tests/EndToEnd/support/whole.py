"""What a whole run of a part has, and the gate has not (see Tests/README.md)."""

import os

import pytest

#: Set by `scripts/test` for the parts that run whole. Without it, tests that are marked `whole` are left out.
IS_WHOLE = bool(os.environ.get("LIQUID_TEST_WHOLE"))

#: Set by `scripts/test --long`: more repetitions, which take hours.
IS_LONG = bool(os.environ.get("LIQUID_TEST_LONG"))


def kill_points(names, start=0):
    """Return the calls from `start` on at which to kill a program, as (name, which call of this name it is, from 1).

    In the gate, these are only every tenth call, and the first and the last of each name.
    """
    points = [(name, names[: place + 1].count(name)) for place, name in enumerate(names)][start:]
    rest = names[start:]
    return [point for place, point in enumerate(points) if IS_WHOLE or place % 10 == 0
            or point[0] not in rest[:place] or point[0] not in rest[place + 1:]]


def every_third(values):
    """Return the values of a sweep: in the gate, only every third, and the last."""
    values = list(values)
    return values if IS_WHOLE else [value for place, value in enumerate(values) if _is_in_gate(place, values)]


def alike(values):
    """Return values that run the same code, for a test's parameter: only every third, and the last, are in the gate."""
    mark, values = pytest.mark.whole("every third case of this list stands for all in the gate"), list(values)
    return [value if _is_in_gate(place, values) else pytest.param(*(value if isinstance(value, tuple) else [value]), marks=mark)
            for place, value in enumerate(values)]


def _is_in_gate(place, values):
    return place % 3 == 0 or place == len(values) - 1
