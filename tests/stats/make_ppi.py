"""Write ppi.json: prediction-powered intervals by ppi-python 0.2.3, which needs numba.

pip install ppi-python==0.2.3 && python tests/stats/make_ppi.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

PLACE = Path(__file__).with_name("ppi.json")


def cases() -> dict[str, tuple[list[float], list[float]]]:
    """Return labels of all users, and those by people of the first ones, by name."""
    draw = np.random.default_rng(47)
    truth = draw.integers(0, 9, 60) / 8
    noisy = np.clip(truth + draw.normal(0, 0.25, 60), 0, 1).round(3)
    f = [*map(float, noisy)]
    return {
        "few": (f[:12], [*map(float, truth[:4])]),
        "noisy": (f, [*map(float, truth[:15])]),
        "biased": ([min(1.0, round(x + 0.3, 3)) for x in f], [*map(float, truth[:20])]),
        "opposite": ([round(1 - x, 3) for x in f], [*map(float, truth[:20])]),  # a weight of 0
        # people vary more than the labels: a weight above 1 is 1
        "weak": ([round(x / 8, 4) for x in f], [*map(float, truth[:5])]),
        "differences": ([round(x - 0.5, 3) for x in f], [x - 0.5 for x in map(float, truth[:30])]),
    }


def main() -> None:
    """Compute all cases."""
    found: dict[str, Any] = {}
    for name, (f, y) in cases().items():
        labels, people = np.array(f), np.array(y)
        given = people, labels[: len(y)], labels[len(y) :]
        value = float(np.squeeze(ppi_mean_pointestimate(*given)))
        low, high = (float(np.squeeze(end)) for end in ppi_mean_ci(*given, alpha=0.05))
        found[name] = {"labels": f, "people": y, "value": value, "ci_low": low, "ci_high": high}
    PLACE.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
