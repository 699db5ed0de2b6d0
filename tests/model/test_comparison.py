"""GPUs side by side, with plain numbers."""

import pytest
from devices import A100_SXM, H100_SXM, UNKNOWN_MEMORY

from kmeter.model.comparison import comparison


def test_relative_per_watt_and_per_dollar() -> None:
    found = comparison([H100_SXM, A100_SXM], "fp32", [0.33], {H100_SXM.target: 2.69})
    h100, a100 = found.contenders
    assert found.relative(h100, 0) == 1
    assert found.relative(a100, 0) == pytest.approx(3.186 / 5.238)
    assert h100.per_watt(0) == pytest.approx(0.33 * 3.35232e12 / 700)
    assert h100.per_cost(0) == pytest.approx(0.33 * 3.35232e12 * 3600 / 2.69)
    assert a100.per_cost(0) is None
    assert found.is_priced


def test_what_is_unknown_stays_unknown() -> None:
    found = comparison([H100_SXM, UNKNOWN_MEMORY], "fp32", [0.33])
    gb10 = found.contenders[1]
    assert gb10.attainable == (None,)
    assert found.relative(gb10, 0) is None
    assert gb10.unknown == "the driver reports no memory clock"
