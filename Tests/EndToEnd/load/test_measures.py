"""The measures of these tests, on numbers whose result is known."""

from load.measures import jain, slope, steady_slope


def test_slope():
    assert slope([(0, 5), (1, 7), (2, 9)]) == 2
    assert slope([(0, 1), (1, 0), (2, 1)]) == 0


def test_steady_slope():
    assert steady_slope([(place, 7 + 2 * place) for place in range(103)]) == 2
    assert steady_slope([(place, min(place, 75)) for place in range(100)]) == 0


def test_jain():
    assert jain([7] * 64) == 1
    assert jain([1] + [0] * 63) == 1 / 64
    assert jain([1] * 32 + [0] * 32) == 1 / 2
