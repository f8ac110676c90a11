"""Histories: appended rows, changes between runs, and gates against the past."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pandas as pd
import pytest
from click.testing import Result

import sqlmetrics as sm
from sqlmetrics.past import place as places
from sqlmetrics.stats.gates import EVALUATION, parse_gate
from tests.support.command_line import run

PLACES = ["m.duckdb:results", "results/"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def result_of(rows: list[dict[str, Any]], **record: Any) -> pd.DataFrame:
    """Make a result with chosen values, as `evaluate` returns it."""
    frame = pd.DataFrame(rows).assign(metric="recall", k=pd.array([2] * len(rows), dtype="Int64"))
    slices = [name for name in frame.columns if name in ("country", "model")]
    for name in ("std", "ci_low", "ci_high"):
        frame[name] = frame.get(name)
    frame = frame[[*slices, "metric", "k", "value", "n_users", "std", "ci_low", "ci_high"]]
    frame.attrs["sqlmetrics"] = {
        "result": "evaluate",
        "started": "2026-11-26T02:00:00+00:00",
        "versions": {"sqlmetrics": "0.1.0"},
        "given": {"where": None},
        "asked": {"confidence": 0.95},
        "settings": {"audience": "relevant"},
        "metrics": [{"metric": "recall", "convention": "standard", "settings": {}, "k": [2]}],
        **record,
    }
    return frame


def of_users(values: dict[str, float]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the result of values of users, and the values."""
    users = pd.DataFrame({"user_id": [*values], "k": 2, "recall": [*values.values()]})
    mean, error = users["recall"].mean(), users["recall"].sem()
    z = 1.959963984540054
    row = {"value": mean, "n_users": len(users), "std": users["recall"].std(),
           "ci_low": mean - z * error, "ci_high": mean + z * error}  # fmt: skip
    return result_of([row]), users


@pytest.mark.parametrize("to", PLACES)
def test_the_change_of_two_samples_that_share_users(to: str) -> None:
    """Three of four and five users are in both runs.

    s0² = 0.3 / 3 and s1² = 0.172 / 4, so the variances of the means are 0.025 and 0.0086. The
    covariance of (0.2, 0.4), (0.8, 0.7), (0.1, 0.3) is 0.47 / 6. The variance of the change is
    0.0336 - 2 · 0.47 / 6 · 3 / (4 · 5) = 0.0101; of independent samples, 0.0336.
    """
    before = of_users({"u1": 0.5, "u2": 0.2, "u3": 0.8, "u4": 0.1})
    after = of_users({"u2": 0.4, "u3": 0.7, "u4": 0.3, "u5": 0.6, "u6": 0.2})
    for result, users in (before, after):
        sm.append(result, to, per_user=users)
    row = sm.trend(to, "recall@2", confidence=0.5).iloc[1]
    half = 0.6744897501960817  # the half width of an interval of 50 % in standard errors
    assert row["change"] == pytest.approx(0.04, abs=1e-12)
    assert row["change_high"] - row["change"] == pytest.approx(half * 0.0101**0.5, abs=1e-12)
    assert row["n_both"] == 3


def test_samples_without_values_of_users_count_as_independent() -> None:
    before = of_users({"u1": 0.5, "u2": 0.2, "u3": 0.8, "u4": 0.1})
    after = of_users({"u2": 0.4, "u3": 0.7, "u4": 0.3, "u5": 0.6, "u6": 0.2})
    sm.append(before[0], PLACES[0], per_user=before[1])
    sm.append(after[0], PLACES[0])
    row = sm.trend(PLACES[0], "recall@2", confidence=0.5).iloc[1]
    half = 0.6744897501960817
    assert row["change_high"] - row["change"] == pytest.approx(half * 0.0336**0.5, abs=1e-12)
    assert pd.isna(row["n_both"])


SLICED = [
    [("DE", 60, 1 / 5), ("FR", 30, 2 / 5), ("JP", 10, 3 / 5)],
    [("DE", 60, 1 / 4), ("FR", 75, 2 / 5), ("US", 15, 1 / 10)],
]


@pytest.mark.parametrize("to", PLACES)
def test_a_change_is_split_into_parts(to: str) -> None:
    """The means are 3/10 of 100 users and 31/100 of 150, and their middle is 61/200.

    DE: within (3/5 + 2/5) / 2 · (1/4 - 1/5) = 1/40, mix (2/5 - 3/5) (9/40 - 61/200) = 2/125. FR:
    mix (1/2 - 3/10) (2/5 - 61/200) = 19/1000. JP: -1/10 (3/5 - 61/200) = -59/2000. US: 1/10 (1/10 -
    61/200) = -41/2000. The sum is 1/100.
    """
    for slices in SLICED:
        rows = [{"country": c, "n_users": n, "value": value} for c, n, value in slices]
        sm.append(result_of(rows), to)
    frame = sm.trend(to, "recall@2", by="country").iloc[-5:].set_index("country")
    parts = frame[["within", "mix", "appeared", "disappeared"]]
    expected = pd.DataFrame(
        {
            "within": [1 / 40, 1 / 40, 0, None, None],
            "mix": [7 / 200, 2 / 125, 19 / 1000, None, None],
            "appeared": [-41 / 2000, None, None, None, -41 / 2000],
            "disappeared": [-59 / 2000, None, None, -59 / 2000, None],
        },
        index=pd.Index(["(all)", "DE", "FR", "JP", "US"], name="country"),
    )
    pd.testing.assert_frame_equal(parts, expected, rtol=0, atol=1e-12, check_index_type=False)
    assert frame.loc["(all)", "value"] == pytest.approx(31 / 100, abs=1e-12)
    assert frame.loc["(all)", "change"] == pytest.approx(1 / 100, abs=1e-12)


def test_runs_of_the_same_second_keep_their_order() -> None:
    for value in (0.4, 0.1, 0.3):
        sm.append(result_of([{"value": value, "n_users": 3}]), PLACES[0], tags={"n": value})
    frame = sm.trend(PLACES[0], "recall@2")
    assert [*frame["value"]] == [0.4, 0.1, 0.3]
    assert [*sm.trend(PLACES[0], "recall@2", last=2)["value"]] == [0.1, 0.3]
    assert sm.trend(PLACES[0], "recall@2", last=1)["change"].item() == pytest.approx(0.2)
    assert [*sm.trend(PLACES[0], "recall@2", tags={"n": 0.1})["value"]] == [0.1]


def test_other_settings_are_marked() -> None:
    row = [{"value": 0.4, "n_users": 3}]
    sm.append(result_of(row), PLACES[0])
    sm.append(result_of(row), PLACES[0])
    sm.append(result_of(row, settings={"audience": "both"}), PLACES[0])
    assert [*sm.trend(PLACES[0], "recall@2")["same_settings"]][1:] == [True, False]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("to", PLACES)
def test_other_columns_are_refused_and_nothing_is_written(to: str) -> None:
    sm.append(result_of([{"value": 0.4, "n_users": 3, "country": "DE"}]), to)
    with pytest.raises(sm.DataError, match="the result has no column country"):
        sm.append(result_of([{"value": 0.4, "n_users": 3}]), to)
    assert len(sm.trend(to, "recall@2", by="country")) == 2


def test_a_run_has_one_value_of_a_metric() -> None:
    """Frames of pandas that are joined keep the record of a result."""
    rows = [{"value": 0.4, "n_users": 3, "country": country} for country in ("DE", None)]
    result = result_of(rows)
    with pytest.raises(sm.UsageError, match="repeats 2 of its 4 rows"):
        sm.append(pd.concat([result, result]), PLACES[0])
    assert not Path("m.duckdb").exists()
    sm.append(result, PLACES[0])


@pytest.mark.parametrize("to", PLACES)
def test_a_failure_in_the_values_of_users_leaves_the_history(to: str) -> None:
    result, users = of_users({"u1": 0.5, "u2": 0.2})
    sm.append(result, to, per_user=users)
    other = users.rename(columns={"user_id": "id"})
    with pytest.raises(sm.DataError, match="_per_user has other columns"):
        sm.append(result, to, per_user=other)
    assert len(sm.trend(to, "recall@2")) == 1


def test_an_interrupt_while_rows_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    result, users = of_users({"u1": 0.5, "u2": 0.2})
    sm.append(result, PLACES[0], per_user=users)
    add = places._Table._add

    def interrupted(self: Any, connection: Any, table: str, query: str) -> None:
        add(self, connection, table, query)
        if table == "results_per_user":
            raise KeyboardInterrupt

    monkeypatch.setattr(places._Table, "_add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sm.append(result, PLACES[0], per_user=users)
    assert len(sm.trend(PLACES[0], "recall@2")) == 1
    with duckdb.connect("m.duckdb") as connection:
        assert connection.execute("SELECT count(*) FROM results_per_user").fetchone() == (2,)


@pytest.mark.parametrize(
    ("to", "text"),
    [
        ("results.parquet", "write FILE.duckdb:TABLE or FOLDER/"),
        ("no/such/m.duckdb:results", "the folder no/such does not exist"),
        ("no/such/results/", "cannot create the folder"),
    ],
)
def test_what_is_no_place(to: str, text: str) -> None:
    with pytest.raises(sm.SqlmetricsError, match=text):
        sm.append(result_of([{"value": 0.4, "n_users": 3}]), to)


def test_a_file_that_is_no_database() -> None:
    Path("m.duckdb").write_text("mine")
    with pytest.raises(sm.DataError, match="is not a DuckDB file"):
        sm.append(result_of([{"value": 0.4, "n_users": 3}]), PLACES[0])
    assert Path("m.duckdb").read_text() == "mine"


def test_an_empty_file_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has begun to create it; an empty file that stays is not a database."""
    Path("m.duckdb").touch()
    ended = threading.Timer(0.3, Path("m.duckdb").unlink)
    ended.start()
    sm.append(result_of([{"value": 0.4, "n_users": 3}]), PLACES[0])
    ended.join()
    assert len(sm.trend(PLACES[0], "recall@2")) == 1
    Path("empty.duckdb").touch()
    monkeypatch.setattr(places, "_SILENCE", 0.2)
    with pytest.raises(sm.DataError, match=r"empty\.duckdb is not a DuckDB file"):
        sm.append(result_of([{"value": 0.4, "n_users": 3}]), "empty.duckdb:results")


def test_a_change_without_standard_errors_has_no_interval() -> None:
    for value in (0.4, 0.5):
        sm.append(result_of([{"value": value, "n_users": 3}]), PLACES[0])
    found = sm.trend(PLACES[0], "recall@2")
    assert found["change"].tolist()[1] == pytest.approx(0.1)
    assert found[["change_low", "change_high"]].isna().all(axis=None)
    assert "independent samples" not in run("trend", PLACES[0], "recall@2").stderr


def test_python_and_the_command_define_a_metric_alike() -> None:
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [1, 2], "rank": [1, 2]})
    lists.to_csv("lists.csv", index=False)
    with sm.Evaluator("lists.csv", "lists.csv", check=False) as evaluator:
        sm.append(evaluator.evaluate("recall@2"), PLACES[0])
    files = ["-r", "lists.csv", "-i", "lists.csv", "--no-check"]
    run("evaluate", "recall@2", *files, "-o", PLACES[0], "--append")
    assert sm.trend(PLACES[0], "recall@2")["same_settings"].tolist() == [pd.NA, True]


def test_what_a_history_of_slices_does_not_have() -> None:
    rows = [{"value": 0.4, "n_users": 3, "country": country} for country in ("DE", "FR")]
    sm.append(result_of(rows), PLACES[0], tags={"env": "live"})
    sm.append(result_of([{**row, "n_users": None} for row in rows]), PLACES[1])
    answers = {
        (PLACES[0], "live"): "none for all values of country. Add by='country', or evaluate",
        (PLACES[0], "test"): "has no recall of a run with the tag env=test",
        (PLACES[1], None): "none for all values of country. Evaluate with combinations",
    }
    for (place, env), text in answers.items():
        tags = {"env": env} if env else None
        with pytest.raises(sm.UsageError) as caught:
            sm.trend(place, "recall@2", tags=tags)
        assert text in str(caught.value)


@pytest.mark.parametrize(
    ("metric", "more", "text"),
    [
        ("recall@5", {}, "has no recall@5; its metrics: recall@2"),
        ("recall@2", {"by": "age"}, "has no slices by age; its results have no slices"),
        ("recall@2", {"tags": {"env": "live"}}, "with the tag env=live"),
        ("recall@2", {"last": 0}, "at least 1"),
    ],
)
def test_what_a_history_does_not_have(metric: str, more: dict[str, Any], text: str) -> None:
    sm.append(result_of([{"value": 0.4, "n_users": 3}]), PLACES[0])
    with pytest.raises(sm.UsageError, match=text):
        sm.trend(PLACES[0], metric, **more)


@pytest.mark.parametrize("to", PLACES)
def test_no_history(to: str) -> None:
    with pytest.raises(sm.DataError, match="there is no history"):
        sm.trend(to, "recall@2")


def test_a_history_that_is_not_there_names_the_tables_of_its_file() -> None:
    sm.append(result_of([{"value": 0.4, "n_users": 3}]), PLACES[0])
    text = "no history m.duckdb:result; did you mean 'results'\\? The file has results"
    with pytest.raises(sm.DataError, match=text):
        sm.trend("m.duckdb:result", "recall@2")


@pytest.mark.parametrize("is_there", [False, True])
def test_a_first_append_that_fails_leaves_no_file(is_there: bool) -> None:
    """The engine refuses the text x as a value."""
    path = Path("m.duckdb")
    if is_there:
        duckdb.connect(str(path)).close()
    result = result_of([{"value": 0.4, "n_users": 3}])
    result["value"] = "x"
    with pytest.raises(sm.DataError, match="cannot append to"):
        sm.append(result, PLACES[0])
    assert path.exists() == is_there
    assert not Path("m.duckdb.wal").exists()
    sm.append(result_of([{"value": 0.4, "n_users": 3}]), PLACES[0])
    assert sm.trend(PLACES[0], "recall@2")["value"].tolist() == [0.4]


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_a_chart_of_a_trend(suffix: str) -> None:
    pytest.importorskip("vl_convert")
    for value, moment in ((0.4, "2026-11-26"), (0.3, "2026-11-27")):
        rows = [
            {"model": "als", "value": value, "n_users": 3, "ci_low": value / 2, "ci_high": 0.6},
            {"model": "pop & co", "value": value / 4, "n_users": 3},
        ]
        sm.append(result_of(rows, started=f"{moment}T02:00:00+00:00"), PLACES[0])
    file = f"trend.{suffix}"
    asked = ["trend", PLACES[0], "recall@2", "--plot", file]
    run(*asked)
    content = Path(file).read_bytes()
    if suffix == "svg":
        texts = {"".join(part.itertext()) for part in ElementTree.fromstring(content).iter()}
        assert {"recall@2", "run (UTC)", "als", "pop & co"} <= texts
    elif suffix == "png":
        assert content.startswith(b"\x89PNG")
    else:
        assert b"pop & co" in content
    assert "exists" in run(*asked, code=1).stderr
    assert Path(file).read_bytes() == content
    run(*asked, "--force")


def test_a_chart_of_another_format() -> None:
    result = run("trend", PLACES[0], "recall@2", "--plot", "trend.pdf", code=2)
    assert "trend.pdf: a chart is written as .html, .png, .svg" in result.stderr


# ---------------------------------------------------------------- several writers


@pytest.mark.parametrize("to", PLACES)
def test_threads_that_append_at_once_lose_nothing(to: str) -> None:
    def work() -> None:
        for _ in range(3):
            sm.append(result_of([{"value": 0.4, "n_users": 3}]), to)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sm.trend(to, "recall@2")) == 12


def test_another_process_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    sm.append(result_of([{"value": 0.4, "n_users": 3}]), PLACES[0])
    held = subprocess.Popen(
        [sys.executable, "-c", "import duckdb; c = duckdb.connect('m.duckdb'); print(1, flush=True)"
         "; input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert held.stdout is not None
    held.stdout.readline()
    monkeypatch.setattr(places, "_SILENCE", 0.0)
    monkeypatch.setattr(places, "_PATIENCE", 0.3)
    with (
        pytest.warns(sm.SqlmetricsWarning, match="open in another process; waiting"),
        pytest.raises(sm.DataError, match="Nothing was written"),
    ):
        sm.append(result_of([{"value": 0.5, "n_users": 3}]), PLACES[0])
    monkeypatch.setattr(places, "_PATIENCE", 60.0)
    threading.Timer(0.5, lambda: held.communicate(b"\n")).start()
    with pytest.warns(sm.SqlmetricsWarning, match="waiting"):
        sm.append(result_of([{"value": 0.6, "n_users": 3}]), PLACES[0])
    assert [*sm.trend(PLACES[0], "recall@2")["value"]] == [0.4, 0.6]


# ---------------------------------------------------------------- the command line and gates

LISTS = pd.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [1, 2, 3, 4], "rank": [1, 2, 1, 2]})
TRUTH = pd.DataFrame({"user_id": [1, 2], "item_id": [1, 9]})


def evaluated(*arguments: str, code: int = 0) -> Result:
    LISTS.to_parquet("recs.parquet")
    TRUTH.to_parquet("test.parquet")
    given = ["-r", "recs.parquet", "-i", "test.parquet", "--no-check"]
    return run("evaluate", *arguments, *given, code=code)


APPEND = ["recall@2", "-o", PLACES[0], "--append"]


def test_the_command_appends_and_shows_the_trend() -> None:
    evaluated(*APPEND, "map@2", "--tag", "date=2026-11-26", "--per-user")
    evaluated(*APPEND, "map@2", "--tag", "date=2026-11-27", "--per-user")
    shown = run("trend", PLACES[0], "recall@2", "--format", "csv")
    frame = pd.read_csv(io.StringIO(shown.stdout))
    assert [*frame["tags"]] == ["date=2026-11-26", "date=2026-11-27"]
    assert [*frame["value"]] == [0.5, 0.5]  # user 1 of two users has a hit
    assert frame["n_both"].iloc[1] == 2
    assert frame["change_high"].iloc[1] == pytest.approx(0, abs=1e-12)  # the same values
    shown = run("trend", PLACES[0], "recall@2", "--format", "table")
    assert shown.stdout.startswith("▁▁ 0.5 to 0.5\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--append"], "--append needs the place"),
        (["-o", PLACES[0]], "add --append"),
        (["--tag", "a=b"], "--tag applies to --append only"),
        (["--per-user"], "--per-user applies to --append only"),
        (["-o", PLACES[0], "--append", "--force"], "--force does not apply to --append"),
        (["-o", "a.csv", "--append"], "is not the place of a history"),
        (["--fail-if", "recall@2 < mean(3)"], "-o FILE.duckdb:TABLE --append"),
    ],
)
def test_wrong_options(arguments: list[str], text: str) -> None:
    assert text in evaluated("recall@2", *arguments, code=2).stderr
    assert not Path("m.duckdb").exists()


def test_gates_against_the_past() -> None:
    """The past is 0.9 and 0.7: a mean of 0.8, and a standard deviation of 0.1 · √2.

    The value 0.5 is below 0.8 - 2 · 0.1414 = 0.5172, and not below 0.8 - 3 · 0.1414 = 0.3757.
    """
    evaluated(*APPEND)  # for the fingerprint of the settings
    with duckdb.connect("m.duckdb") as connection:
        connection.execute("UPDATE results SET value = 0.9")
        connection.execute("INSERT INTO results SELECT * REPLACE ('2' AS run_id, 0.7 AS value) "
                           "FROM results")  # fmt: skip
    one = evaluated(*APPEND, "--fail-if", "recall@2 < mean(2) - 2 std(2)", code=3)
    assert "recall@2: value 0.5 is below 0.517157" in one.stderr
    with duckdb.connect("m.duckdb") as connection:  # the row is kept although the gate failed
        assert connection.execute("SELECT count(*) FROM results").fetchone() == (3,)
        connection.execute("DELETE FROM results WHERE value = 0.5")
    evaluated(*APPEND, "--fail-if", "recall@2 < mean(2) - 3*std(2)")
    too_few = evaluated(*APPEND, "--fail-if", "recall@2 < mean(7) + 1")
    assert "is not judged for 1 row, e.g. recall@2: the history has fewer than 7" in too_few.stderr


@pytest.mark.parametrize(
    ("text", "number", "past"),
    [
        ("ndcg@10 < mean(7) - 2 std(7)", 0, [(1, "mean", 7), (-2, "std", 7)]),
        ("ndcg@10 < 0.95*mean(3)", 0, [(0.95, "mean", 3)]),
        ("ndcg@10 >= 1e-2 + mean( 3 ) where country=DE", 0.01, [(1, "mean", 3)]),
        ("ndcg@10 < -2", -2, []),
    ],
)
def test_thresholds_are_parsed(text: str, number: float, past: list[Any]) -> None:
    gate = parse_gate(text, of=EVALUATION)
    assert gate.threshold == number
    assert [(term.factor, term.name, term.n_runs) for term in gate.past] == past


@pytest.mark.parametrize(
    "text", ["ndcg@10 < mean(0)", "ndcg@10 < std(1)", "ndcg@10 < mean", "ndcg@10 < mean(7) std(7)",
             "ndcg@10 < mean(7)%", "ndcg@10 < median(7)"]
)  # fmt: skip
def test_thresholds_that_are_none(text: str) -> None:
    with pytest.raises(sm.UsageError, match="the gate"):
        parse_gate(text, of=EVALUATION)


def test_a_comparison_has_no_past() -> None:
    with pytest.raises(sm.UsageError, match="only evaluations"):
        parse_gate("ndcg@10 < mean(7)")


def test_a_past_of_python() -> None:
    with warnings.catch_warnings(), sm.Evaluator(LISTS, TRUTH, check=False) as evaluator:
        warnings.simplefilter("error")
        sm.append(evaluator.evaluate("recall@2"), PLACES[0])
        with pytest.raises(sm.GateError, match=r"below 0\.6"):
            evaluator.evaluate("recall@2", fail_if="recall@2 < 1.2 mean(1)", past=PLACES[0])
        with pytest.raises(sm.UsageError, match="past=…"):
            evaluator.evaluate("recall@2", fail_if="recall@2 < mean(1)")


@pytest.mark.parametrize("name", ["0.parquet", "z.parquet"])  # before and after those of runs
@pytest.mark.parametrize(
    ("folder", "foreign", "words"),
    [
        ("results", pd.DataFrame({"user_id": [1]}), "it has no column run_id"),
        ("results_per_user", pd.DataFrame({"user_id": [1]}), "it has no column run_id"),
        ("results", None, "it also has country"),  # rows of slices would count as rows of all users
    ],
)
def test_files_of_other_tables_in_the_folder_are_named(
    name: str, folder: str, foreign: pd.DataFrame | None, words: str
) -> None:
    result, users = of_users({"u1": 0.5, "u2": 0.2})
    for _ in range(2):
        sm.append(result, "results/", per_user=users)
    if foreign is None:
        file = min(Path("results").glob("*.parquet"))
        duckdb.sql(f"COPY (SELECT *, 'A' AS country FROM '{file}') TO 'results/{name}'")
    else:
        foreign.to_parquet(f"{folder}/{name}")
    for call in (
        lambda: sm.trend("results/", "recall@2"),
        lambda: sm.append(result, "results/", per_user=users),
    ):
        with pytest.raises(sm.DataError, match=rf"^results/: the file .*/{folder}/{name} ") as told:
            call()
        assert words in str(told.value)
    Path(folder, name).unlink()
    assert len(sm.trend("results/", "recall@2")) == 2


def test_a_copy_of_a_run_is_named() -> None:
    """Its rows would count twice, and join with themselves."""
    result, _ = of_users({"u1": 0.5, "u2": 0.2})
    sm.append(result, "results/")
    (file,) = Path("results").glob("*.parquet")
    Path("results", "copy.parquet").write_bytes(file.read_bytes())
    with pytest.raises(sm.DataError, match=r"copy\.parquet both have the run|both have the run"):
        sm.trend("results/", "recall@2")
    Path("results", "copy.parquet").unlink()
    assert len(sm.trend("results/", "recall@2")) == 1
