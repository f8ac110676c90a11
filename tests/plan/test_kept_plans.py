"""Plans that a process before has kept give the same results."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pandas as pd

from tests.support.commands import command


def test_results_with_kept_plans_are_those_without(tmp_path: Path) -> None:
    lists = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [10, 11, 10], "score": [0.5, 0.4, 0.3]})
    lists.to_csv(tmp_path / "lists.csv", index=False)
    lists.iloc[1:].to_csv(tmp_path / "truth.csv", index=False)
    asked = command("evaluate", "ndcg@2", "recall@1", "user_coverage@2", "--no-check")
    asked += ["-r", str(tmp_path / "lists.csv"), "-i", str(tmp_path / "truth.csv")]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    cold, warm = (
        subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert list(tmp_path.rglob("plans/*"))
    assert warm == cold
