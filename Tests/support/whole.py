"""What `scripts/test --whole` runs, and CI has no time for."""

import os

import pytest

#: Set by `scripts/test --whole`.
IS_WHOLE = bool(os.environ.get("LIQUID_TEST_WHOLE"))

#: Marks a test that CI leaves out.
whole_only = pytest.mark.skipif(not IS_WHOLE, reason="it takes long: only with scripts/test --whole")


def kill_points(names, start=0):
    """Return the calls from `start` on at which to kill a program, as (name, which call of this name it is, from 1).

    In CI, these are only every fifth call, and the first and the last of each name.
    """
    points = [(name, names[: place + 1].count(name)) for place, name in enumerate(names)][start:]
    rest = names[start:]
    return [point for place, point in enumerate(points) if IS_WHOLE or place % 5 == 0
            or point[0] not in rest[:place] or point[0] not in rest[place + 1:]]
