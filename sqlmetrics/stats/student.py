"""Student's t-distribution, by scipy: which only some intervals and tests need."""

from __future__ import annotations

import functools
import importlib
from statistics import NormalDist
from typing import Any

from sqlmetrics.errors import UsageError

_DEGREE = 20


def special(needed_by: str) -> Any:
    """Import `scipy.special`; `scipy.stats`, which is not needed, takes far longer to import.

    Raises:
        UsageError: scipy is not installed.
    """
    try:
        return importlib.import_module("scipy.special")
    except ImportError as error:
        verb = "need" if " and " in needed_by else "needs"
        raise UsageError(
            f"{needed_by} {verb} scipy, which cannot be imported ({error}); "
            "run pip install 'sqlmetrics[stats]'"
        ) from error


@functools.lru_cache(maxsize=16)
def quantile_series(confidence: float) -> tuple[float, ...]:
    """Return c1, c2, … of the quantile of Student's t with d degrees of freedom, for SQL.

    The quantile of the two-sided interval is z exp(c1 / d + c2 / d² + …), where z is that of the
    normal distribution. The series interpolates the exact quantiles in Chebyshev nodes of 1 / d;
    its relative error for 1, 2, … degrees of freedom is below 1e-12 for levels up to 95 %, and
    below 1e-9 up to 99.9 %.
    """
    import numpy as np
    from numpy.polynomial import Chebyshev, Polynomial

    level = (1 + confidence) / 2
    z = NormalDist().inv_cdf(level)
    inverse = (1 + np.cos(np.pi * (np.arange(_DEGREE) + 0.5) / _DEGREE)) / 2
    quantiles = special("the interval of clusters").stdtrit(1 / inverse, level)
    series = Chebyshev.fit(
        inverse, np.log(quantiles / z) / inverse, _DEGREE - 1, domain=[0, 1]
    ).convert(kind=Polynomial)
    return tuple(series.coef.tolist())
