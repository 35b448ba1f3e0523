"""Numbers and words of memories as pages show them."""

import pytest

from memories.presentation import figure


@pytest.mark.parametrize(
    ("value", "said"),
    [(1.0, "1"), (0.617, "0.62"), (0, "0.00"), (0.0041, "0.0041"), (2.7e-11, "< 0.0001"), (1.4, "1.40")],
)
def test_a_figure_is_as_long_as_somebody_reads(value, said):
    assert figure(value) == said
