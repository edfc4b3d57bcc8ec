"""What a whole run of a part has, and the gate has not (see Tests/README.md)."""

import os

#: Set by `scripts/test` for the parts that run whole. Without it, tests that are marked `whole` are left out.
IS_WHOLE = bool(os.environ.get("LIQUID_TEST_WHOLE"))

#: Set by `scripts/test --long`: more repetitions, which take hours.
IS_LONG = bool(os.environ.get("LIQUID_TEST_LONG"))


def kill_points(names, start=0):
    """Return the calls from `start` on at which to kill a program, as (name, which call of this name it is, from 1).

    In the gate, these are only every fifth call, and the first and the last of each name.
    """
    points = [(name, names[: place + 1].count(name)) for place, name in enumerate(names)][start:]
    rest = names[start:]
    return [point for place, point in enumerate(points) if IS_WHOLE or place % 5 == 0
            or point[0] not in rest[:place] or point[0] not in rest[place + 1:]]
