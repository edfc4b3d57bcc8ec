"""The measures of these tests, on numbers whose result is known."""

from load.measures import jain, slope


def test_slope():
    assert slope([(0, 5), (1, 7), (2, 9)]) == 2
    assert slope([(0, 1), (1, 0), (2, 1)]) == 0


def test_jain():
    assert jain([7] * 64) == 1
    assert jain([1] + [0] * 63) == 1 / 64
    assert jain([1] * 32 + [0] * 32) == 1 / 2
