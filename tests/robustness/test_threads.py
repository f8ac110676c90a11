"""Threads that share an evaluator, or a connection; copies of an evaluator."""

import copy
import functools
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm

LISTS = pd.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [11, 12, 13, 14], "rank": [1, 2, 1, 2]})
TRUTH = {1: [11], 2: [14]}
MODELS = {"a": LISTS, "b": LISTS.assign(rank=[2, 1, 2, 1])}
PATIENCE = 0.5  # seconds that a call which should be alone waits for another to come


class Meeting:
    """Counts the calls that are in the engine at the same time."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self._met = threading.Event()
        self._count = threading.Lock()

    def watched(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a method of an engine; a first call waits there for a second one."""

        def called(*args: Any) -> Any:
            with self._count:
                self.inside += 1
                self.most = max(self.most, self.inside)
                if self.inside > 1:
                    self._met.set()
            self._met.wait(PATIENCE)
            self._met.set()  # it is enough that the first one waits
            try:
                return method(*args)
            finally:
                with self._count:
                    self.inside -= 1

        return called


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(call) for call in calls]]


def test_threads_that_share_an_evaluator_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meeting = Meeting()
    with sm.Evaluator(LISTS, TRUTH) as evaluator:
        expected = evaluator.evaluate("mrr@2")
        monkeypatch.setattr(evaluator.engine, "frame", meeting.watched(evaluator.engine.frame))
        for frame in at_once(*[lambda: evaluator.evaluate("mrr@2")] * 3):
            pd.testing.assert_frame_equal(frame, expected)
    assert meeting.most == 1


def test_evaluators_that_share_a_connection_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meeting, connection = Meeting(), duckdb.connect()
    connection.register("lists", LISTS)
    evaluators = [sm.Evaluator("lists", TRUTH, connection=connection) for _ in range(2)]
    for one in evaluators:
        monkeypatch.setattr(one.engine, "frame", meeting.watched(one.engine.frame))
    frames = at_once(*[lambda one=one: one.evaluate("mrr@2") for one in evaluators])
    pd.testing.assert_frame_equal(*frames)
    assert meeting.most == 1


def test_evaluators_of_their_own_do_not_wait() -> None:
    meeting = Meeting()
    with sm.Evaluator(LISTS, TRUTH) as one, sm.Evaluator(LISTS, TRUTH) as other:
        for evaluator in (one, other):
            evaluator.engine.frame = meeting.watched(evaluator.engine.frame)  # type: ignore[method-assign]
        at_once(lambda: one.evaluate("mrr@2"), lambda: other.evaluate("mrr@2"))
    assert meeting.most == 2


def test_many_calls_of_many_kinds_at_once() -> None:
    with sm.Evaluator(MODELS, TRUTH) as evaluator:
        calls: list[Callable[[], pd.DataFrame]] = [
            lambda: evaluator.evaluate(["mrr@2", "ndcg@1"]),
            lambda: evaluator.per_user("recall@2", long=True),
            lambda: evaluator.compare("mrr@2", baseline="a"),
            lambda: evaluator.leaderboard("mrr@2"),
            lambda: evaluator.check("mrr@2"),
        ]
        expected = [call() for call in calls]
        for frame, alone in zip(at_once(*calls * 3), expected * 3, strict=True):
            pd.testing.assert_frame_equal(frame, alone)


def test_an_error_in_one_thread_lets_others_go_on() -> None:
    def wrong(evaluator: sm.Evaluator) -> str:
        with pytest.raises(sm.UsageError) as raised:
            evaluator.evaluate("nonsense@2")
        return str(raised.value)

    with sm.Evaluator(LISTS, TRUTH) as evaluator:
        _, frame, _ = at_once(
            lambda: wrong(evaluator), lambda: evaluator.evaluate("mrr@2"), lambda: wrong(evaluator)
        )
        assert frame["value"].tolist() == [0.75]


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_an_evaluator_cannot_be_copied_and_says_what_to_do(copied: Callable[[Any], Any]) -> None:
    with sm.Evaluator(LISTS, TRUTH) as evaluator:
        with pytest.raises(
            TypeError, match=r"cannot be pickled or copied.*Create one in each proc"
        ):
            copied(evaluator)
        assert len(evaluator.evaluate("mrr@2")) == 1


def test_threads_replace_tables_of_one_evaluator() -> None:
    lists = {
        0.75: LISTS,
        0.5: LISTS.assign(rank=[2, 1, 1, 2]),
        1.0: LISTS.assign(rank=[1, 2, 2, 1]),
    }
    with sm.Evaluator(LISTS, TRUTH) as base:

        def mrr(frame: pd.DataFrame) -> float:
            with base.with_tables(recommendations=frame) as evaluator:
                return float(evaluator.evaluate(["mrr"])["value"][0])

        expected = [*lists] * 3
        found = at_once(*(functools.partial(mrr, lists[value]) for value in expected))
        assert found == expected
        assert list(base.evaluate(["mrr"])["value"]) == [0.75]
