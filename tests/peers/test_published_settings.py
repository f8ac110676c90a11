"""Published numbers of thirteen systems on one table, each by settings of a metric.

The expected numbers were obtained by running those systems (or from their formula, where noted),
never from this package. A number that a table of results gave in 12 digits is checked to 1e-9
against a closed form that was checked against the 12 digits; the closed form is worked by hand.

    recommendations, scores 5 4 3 2 1        interactions, item and grade
    u1   a b c d e                           a 3, c 1, e 2, z 1     longer than k = 3, 4 relevant
    u2   b c                                 c 2                    short list
    u3   a b c                               y 1                    no hit
    u4   a b c                                                      no interactions
    u5                                       a 1, b 1               no list
    u6   d a e b                             d 1, e 3, x 2, y 1, z 1   more relevant than k

Systems differ in the users that they average over: five with interactions (`relevant`), five with
a list (`recommended`), four with both. u5 or u4 score 0 where they are counted.

Numbers of those tables that no setting of these metrics expresses, and why:
    HitRate 0.8, nDCG 0.578188 (torchmetrics): scores unrecommended relevant rows as recommended.
    HitRate 1.0, nDCG 0.684821873 and 0.410893124 (Evidently): knows only the relevant items that
        were recommended, so its audience and its ideal are others.
    MAP 0.7963 / 0.5185, MAR 1.0278 (Evidently): depend on the order of rows, can pass 1.
    MAP, MAR, nDCG, Precision NaN (rs_metrics up to 0.4): a user without a list poisons the mean;
        the values of the other users are checked below.
    MAP ZeroDivisionError (LensKit): u4 has no relevant items; the other users are checked below.
    R-precision 0.45 (Recommenders): averages over the users that have a hit.
    RocAuc 0.2, PartialAUC 0.3, PAP 0.378, RBP 0.359 and 0.180, ERR 0.148 and 0.290, bpref 0.43,
        Accuracy 0.2, PFound 0.476: other metrics.
    CI half-width 0.2921741888997 (RePlay on Spark): standard deviation in single precision.
    Repeated interactions: MAP .3333 (RePlay 0.13, rs_metrics 0.6) and nDCG .4693 (RePlay 0.13)
        count the copies of a relevant item in the divisor, but only once as a hit. MAP .6667
        (RecTools) takes both hits at position 1 as 1/1; here they are 1/1 and 2/1, as with
        Recommenders.
    Repeated recommendations: R .6667, MAP .6667, F1 .6667 (RecTools) count the copies as relevant
        items too. nDCG 1.5307, and 1.8771 for repeated interactions (Recommenders): joins the
        copies of both sides. Jurity: an exception or numbers that were not printed.
    RocAuc, PartialAUC of the two tables: other metrics.
"""

from typing import Any, NamedTuple

import pytest

from tests.support.calls import at_k, run, run_calls, spec
from tests.support.evaluators import Evaluator
from tests.support.five_users import (
    ALL_RELEVANT,
    D2,
    D4,
    D5,
    GRADED_EXPONENTIAL,
    GRADED_LINEAR,
    IDCG3,
    INTERACTIONS,
    LENSKIT,
    LENSKIT_U1,
    RECOMMENDATIONS,
    REPEATED_INTERACTIONS,
    REPEATED_RECOMMENDATIONS,
    U1,
    U2,
)
from tests.support.notation import (
    Interaction,
    Recommendation,
    interaction_frame,
    interaction_rows,
    number,
    recommendation_frame,
    recommendation_rows,
)

RELEVANT: dict[str, Any] = {}
RECOMMENDED = {"audience": "recommended"}
BOTH = {"audience": "both"}
DROPPED = {"no_recommendations": "drop"}  # the same four users as BOTH
KEEP = {"duplicate_recommendations": "keep"}
CUT = {"duplicate_recommendations": "cut_then_dedup"}
DEDUP = {"duplicate_recommendations": "dedup_then_cut"}
SET = {"duplicate_interactions": "set"}
BAG = {"duplicate_interactions": "bag"}


class Number(NamedTuple):
    """One published number: the call, the digits that were printed, and their closed form."""

    metric: str
    params: dict[str, Any]
    settings: dict[str, Any]
    printed: str  # as in the table of results
    exact: str  # the same, worked by hand
    systems: str


LENGTH = {"divisor": "length"}
MIN_K_RELEVANT = {"divisor": "min_k_relevant"}

AT_3 = [
    Number("hit_rate", {}, RELEVANT, "0.6", "3/5",
        "RePlay, rs_metrics, RecTools, ranx, ir_measures, RecBole"),
    Number("hit_rate", {}, RECOMMENDED, "0.6", "3/5", "LensKit; Evidently no_user_feedback"),
    Number("hit_rate", {}, BOTH, "0.75", "3/4", "Elliot"),
    Number("precision", {}, RELEVANT, "0.333333333333", "5/3 / 5",
        "RePlay 0.11 and newer, RecTools, ranx, ir_measures, RecBole, torchmetrics"),
    Number("precision", LENGTH, RELEVANT, "0.366666666667", "(2/3 + 1/2 + 2/3) / 5",
        "RePlay 0.9, 0.10"),
    Number("precision", LENGTH, RECOMMENDED, "0.366666666667", "(2/3 + 1/2 + 2/3) / 5",
        "LensKit, Evidently no_user_feedback"),
    Number("precision", {}, BOTH, "0.416666666667", "5/3 / 4", "Recommenders, Elliot"),
    Number("precision", {}, DROPPED, "0.416666666667", "5/3 / 4", "Recommenders, Elliot"),
    Number("precision", LENGTH, BOTH, "0.458333333333", "(2/3 + 1/2 + 2/3) / 4", "Jurity"),
    Number("precision", MIN_K_RELEVANT, RELEVANT, "0.466666666667", "(2/3 + 1 + 2/3) / 5",
        "RecTools r_precision=True"),
    Number("recall", {}, RELEVANT, "0.38", "(2/4 + 1 + 2/5) / 5",
        "RePlay, Jurity, rs_metrics, RecTools, ranx, ir_measures, RecBole, torchmetrics"),
    Number("recall", {}, BOTH, "0.475", "(2/4 + 1 + 2/5) / 4", "Recommenders, Elliot"),
    Number("recall", MIN_K_RELEVANT, RECOMMENDED, "0.466666666667", "(2/3 + 1 + 2/3) / 5",
        "LensKit"),
    Number("f_beta", {}, RELEVANT, "0.314285714286", "(4/7 + 1/2 + 1/2) / 5",
        "RecTools F1Beta, ranx"),
    Number("f1", {}, RELEVANT, "0.314285714286", "(4/7 + 1/2 + 1/2) / 5", "RecTools F1Beta, ranx"),
    Number("f_beta", {}, BOTH, "0.392857142857", "(4/7 + 1/2 + 1/2) / 4", "Elliot"),
    Number("map", {}, RELEVANT, "0.322222222222", "(5/9 + 1/2 + 5/9) / 5",
        "RePlay 0.9, 0.10, 0.13 and newer, RecBole"),
    Number("map", {}, BOTH, "0.402777777778", "(5/9 + 1/2 + 5/9) / 4",
        "Jurity, Recommenders map_at_k"),
    Number("map", {"divisor": "k"}, RELEVANT, "0.255555555556", "(5/9 + 1/6 + 5/9) / 5",
        "RePlay 0.11, RecTools divide_by_k=True"),
    Number("map", {"divisor": "relevant"}, RELEVANT, "0.25", "(5/12 + 1/2 + 5/15) / 5",
        "RecTools, ranx, ir_measures AP@3, rs_metrics 0.6, recmetrics mark"),
    Number("map", {"divisor": "relevant"}, BOTH, "0.3125", "(5/12 + 1/2 + 5/15) / 4",
        "Recommenders map"),
    Number("map", {"divisor": "hits"}, RELEVANT, "0.433333333333", "(5/6 + 1/2 + 5/6) / 5",
        "torchmetrics; by formula recmetrics mapk and the course notebook"),
    Number("map", {"divisor": "all_positions"}, BOTH, "0.430555555556",
           "(13/18 + 5/18 + 13/18) / 4", "Elliot"),
    Number("mar", {}, RELEVANT, "0.156666666667", "(1/4 + 1/3 + 1/5) / 5",
        "by formula: rs_metrics 0.2 documentation"),
    Number("mar", {"divisor": "all_positions"}, BOTH, "0.316666666667", "(1/3 + 2/3 + 4/15) / 4",
        "Elliot"),
    Number("mrr", {}, RELEVANT, "0.5", "(1 + 1/2 + 1) / 5",
        "RePlay, rs_metrics, RecTools, ranx, ir_measures, RecBole, torchmetrics"),
    Number("mrr", {}, RECOMMENDED, "0.5", "(1 + 1/2 + 1) / 5", "LensKit"),
    Number("mrr", {}, BOTH, "0.625", "(1 + 1/2 + 1) / 4", "Elliot"),
    Number("ndcg", {}, RELEVANT, "0.407753186328", f"(2*{U1} + {U2}) / 5",
        "RePlay, rs_metrics 0.4 and newer, RecTools divide_by_achievable=True, "
        "RecBole, Recommenders binary"),
    Number("ndcg", {"ideal": "all_k"}, RELEVANT, "0.340783617807", f"(2*{U1} + {U2}/{IDCG3}) / 5",
        "RecTools, rs_metrics 0.2.1"),
    Number("ndcg", {"ideal": "all_relevant"}, RELEVANT, "0.345048027294", f"{ALL_RELEVANT} / 5",
        "Jurity, rs_metrics 0.2.2"),
    Number("ndcg", {"discount": "log2_max2"}, RECOMMENDED, "0.447962493", f"{LENSKIT} / 5",
        "LensKit"),
    Number("ndcg", {}, BOTH, "0.509691482910", f"(2*{U1} + {U2}) / 4", "Elliot nDCGRendle2020"),
    Number("ndcg", {"gain": "linear"}, RELEVANT, "0.378188345619", f"{GRADED_LINEAR} / 5",
        "ranx ndcg, ir_measures nDCG, Recommenders score_type=raw"),
    Number("ndcg", {"gain": "exponential"}, RELEVANT, "0.381701105306", f"{GRADED_EXPONENTIAL} / 5",
        "ranx ndcg_burges, Recommenders score_type=exp; ir_measures dcg=exp-log2 prints 0.3817"),
    Number("ndcg", {"gain": "exponential"}, BOTH, "0.477126381633", f"{GRADED_EXPONENTIAL} / 4",
        "Elliot nDCG, threshold 1"),
    Number("r_precision", {}, RELEVANT, "0.18", "(2/4 + 0 + 2/5) / 5",
        "ranx, ir_measures Rprec (of the list cut at 3: the same)"),
]  # fmt: skip

WHOLE_LIST = [
    Number("r_precision", {}, RELEVANT, "0.18", "(2/4 + 0 + 2/5) / 5", "ranx, ir_measures Rprec"),
]

REPEATED_ROWS = [
    # repeated recommendations
    (REPEATED_RECOMMENDATIONS, [
        Number("precision", {}, CUT, "0.3333", "1/3", "RePlay 0.13 (sets)"),
        Number("recall", {}, CUT, "0.5", "1/2", "RePlay 0.13 (sets), rs_metrics 0.6"),
        Number("map", {}, KEEP, "1.0", "(1 + 1) / 2",
            "RePlay 0.13, Recommenders map_at_k, rs_metrics 0.6"),
        Number("map", {"divisor": "relevant"}, KEEP, "1.0", "(1 + 1) / 2", "rs_metrics 0.6"),
        Number("mrr", {}, KEEP, "1", "1", "RePlay 0.13"),
        Number("ndcg", {}, KEEP, "1.0", "1", "RePlay 0.13, rs_metrics 0.6"),
        Number("precision", LENGTH, DEDUP, "0.6667", "2/3", "by formula: RePlay 0.9"),
        Number("recall", {}, DEDUP, "1.0", "1", "by formula: RePlay 0.9"),
        Number("map", {}, DEDUP, "0.8333", "(1 + 2/3) / 2", "by formula: RePlay 0.9"),
        # the table says 0.919720776, wrong from the eighth digit on
        Number("ndcg", {}, DEDUP, "0.9197208", f"(3/2) / (1 + {D2})",
            "by formula: RePlay 0.9"),
        Number("precision", {}, KEEP, "0.6667", "2/3", "RecTools, Recommenders"),
        Number("precision", LENGTH, KEEP, "0.6667", "2/3", "rs_metrics 0.6"),
        Number("recall", {}, KEEP, "1.0", "2/2", "Recommenders"),
        Number("ndcg", {"ideal": "all_k"}, KEEP, "0.765360637", f"(1 + {D2}) / {IDCG3}",
            "RecTools"),
    ]),
    # repeated interactions
    (REPEATED_INTERACTIONS, [
        Number("precision", {}, SET, "0.3333", "1/3", "RePlay 0.13"),
        Number("recall", {}, SET, "0.5", "1/2", "RePlay 0.13"),
        Number("precision", LENGTH, SET, "0.3333", "1/3", "by formula: RePlay 0.9"),
        Number("recall", {}, SET, "0.5", "1/2", "by formula: RePlay 0.9"),
        Number("map", {}, SET, "0.5", "1/2", "by formula: RePlay 0.9; RePlay 0.13 on Spark"),
        Number("ndcg", {}, SET, "0.613147193", f"1 / (1 + {D2})",
            "by formula: RePlay 0.9; RePlay 0.13 on Spark, rs_metrics 0.6"),
        Number("precision", {}, BAG, "0.6667", "2/3", "RecTools, Recommenders"),
        Number("precision", LENGTH, BAG, "0.6667", "2/3", "RecTools, Recommenders (a list of 3)"),
        Number("recall", {}, BAG, "0.6667", "2/3", "RecTools, Recommenders, rs_metrics 0.6"),
        Number("map", {}, BAG, "1.0", "(1/1 + 2/1) / 3", "Recommenders map_at_k"),
        Number("ndcg", {"ideal": "all_k"}, BAG, "0.938557452", f"2 / {IDCG3}", "RecTools"),
    ]),
]  # fmt: skip

# Values of single users, where the mean of a system is spoilt by another user.
OF_USERS = [
    ("map", {"divisor": "min_relevant_length"}, BOTH,
        {"u1": "5/9", "u2": "1/2", "u3": 0, "u6": "5/9"}, "LensKit"),
    ("map", LENGTH, BOTH, {"u1": "5/9", "u2": "1/4", "u3": 0, "u6": "5/9"}, "rs_metrics 0.2, 0.3"),
    ("mar", LENGTH, BOTH, {"u1": "1/4", "u2": "1/2", "u3": 0, "u6": "1/5"}, "rs_metrics 0.2"),
    ("ndcg", {"discount": "log2_max2"}, RECOMMENDED,
        {"u1": LENSKIT_U1, "u2": 1, "u3": 0, "u4": 0, "u6": LENSKIT_U1},
        "LensKit (u1 prints .619906233)"),
]  # fmt: skip

# Examples printed by other documents and test suites, each with tables of its own.
ONE_HIT_EACH = {"A": "6 2 1 0 3", "B": "4 1 7 2 6"}
RS_METRICS = ({"1": "1 3", "2": "0 1"}, {"1": "1 2", "2": "1 2"})
TIED = {"1": "1:5 4:4 5:5"}, {"1": "1 2 3"}  # RePlay 0.12, Experiment: ties item descending
TIED_LATE = {"1": "4:5 1:4 3:5"}, {"1": "1 2 3"}
DESCENDING = {"ties": "item_desc"}
EXAMPLES = [
    (({"A": ONE_HIT_EACH["A"]}, {"A": "2 6"}), 5, Number("precision", {}, {}, "0.4", "2/5",
        "tutorial, system A")),
    (({"A": ONE_HIT_EACH["A"]}, {"A": "2 6"}), 5, Number("recall", {}, {}, "1", "1",
        "tutorial, system A")),
    (({"A": ONE_HIT_EACH["A"]}, {"A": "2 6"}), 5, Number("f1", {}, {}, "0.5714285714285715", "4/7",
        "tutorial, system A")),
    (({"A": ONE_HIT_EACH["A"]}, {"A": "2 6"}), 5, Number("map", {}, {}, "1.0", "1",
        "tutorial, system A")),
    (({"A": ONE_HIT_EACH["A"]}, {"A": "2 6"}), 5, Number("mrr", {}, {}, "1", "1",
        "tutorial, system A")),
    (({"B": ONE_HIT_EACH["B"]}, {"B": "2 6"}), 5,
        Number("map", {"divisor": "hits"}, {}, "0.325", "(1/4 + 2/5) / 2",
            "tutorial, system B")),
    (({"B": ONE_HIT_EACH["B"]}, {"B": "2 6"}), 5, Number("mrr", {}, {}, "0.25", "1/4",
        "tutorial, system B")),
    (({"A": ONE_HIT_EACH["A"]}, {"A": "2:3 6:1"}), 5,
        Number("ndcg", {"gain": "linear"}, {}, "0.7967075809905066", f"(1 + 3*{D2}) / (3 + {D2})",
            "tutorial, system A, scores 3 and 1")),
    (({"B": ONE_HIT_EACH["B"]}, {"B": "2:3 6:1"}), 5,
        Number("ndcg", {"gain": "linear"}, {}, "0.46238363047462905",
            f"(3*{D4} + {D5}) / (3 + {D2})", "tutorial, system B, scores 3 and 1")),
    (RS_METRICS, 2, Number("map", {"divisor": "length"}, {}, "0.375", "(1/2 + 1/4) / 2",
        "rs_metrics 0.2 tests")),
    (RS_METRICS, 2, Number("mar", {"divisor": "length"}, {}, "0.25", "(1/4 + 1/4) / 2",
        "rs_metrics 0.2 tests")),
    (TIED, 2, Number("ndcg", {}, DESCENDING, "0.386853", f"{D2} / (1 + {D2})", "RePlay 0.12")),
    (TIED, 3, Number("ndcg", {}, DESCENDING, "0.296082", f"{D2} / {IDCG3}", "RePlay 0.12")),
    (TIED, 2, Number("ndcg", {}, {"ties": "row"}, "0.613147", f"1 / (1 + {D2})",
        "RePlay 0.12, had it kept the order of rows")),
    (TIED, 3, Number("ndcg", {}, {"ties": "row"}, "0.469279", f"1 / {IDCG3}",
        "RePlay 0.12, had it kept the order of rows")),
    (TIED_LATE, 2, Number("ndcg", {}, DESCENDING, "0.386853", f"{D2} / (1 + {D2})", "RePlay 0.12")),
    (TIED_LATE, 3, Number("ndcg", {}, DESCENDING, "0.530721", f"({D2} + 1/2) / {IDCG3}",
        "RePlay 0.12")),
]  # fmt: skip

Row = tuple[list[Recommendation], list[Interaction], int | None, Number]
TABLE: list[Row] = (
    [(RECOMMENDATIONS, INTERACTIONS, 3, row) for row in AT_3]
    + [(RECOMMENDATIONS, INTERACTIONS, None, row) for row in WHOLE_LIST]
    + [(*tables, 3, row) for tables, rows in REPEATED_ROWS for row in rows]
    + [
        (recommendation_rows(lists, int), interaction_rows(truth, int), k, row)
        for (lists, truth), k, row in EXAMPLES
    ]
)


def call_of(published: Number) -> str:
    return spec(published.metric, published.params | published.settings)


def test_package_gives_the_published_number() -> None:
    """The closed form is the printed number, and the package gives the closed form."""
    by_tables: dict[str, list[Row]] = {}
    for row in TABLE:
        by_tables.setdefault(repr(row[:3]), []).append(row)
    wrong = {}
    for rows in by_tables.values():  # in one call each
        recommendations, interactions, k, _ = rows[0]
        calls = {call_of(row[3]): False for row in rows}
        found = run_calls(recommendations, interactions, calls, k)
        for *_, published in rows:
            digits = len(published.printed.partition(".")[2])
            half_a_digit = 0.5 * 10.0**-digits if digits >= 4 else 0.0
            exact, value = number(published.exact), found[call_of(published)].mean
            is_printed = abs(exact - float(published.printed)) <= half_a_digit + 1e-12
            if not is_printed or value != pytest.approx(exact, rel=0, abs=1e-9):
                wrong[published.systems, call_of(published), k] = (published, value)
    assert wrong == {}


@pytest.mark.parametrize(
    ("metric", "params", "settings", "users", "system"), OF_USERS, ids=lambda value: str(value)[:40]
)
def test_package_gives_the_values_of_users(
    metric: str,
    params: dict[str, Any],
    settings: dict[str, Any],
    users: dict[str, str | float],
    system: str,  # noqa: ARG001 - says whose numbers they are
) -> None:
    expected = {user: number(value) for user, value in users.items()}
    result = run(RECOMMENDATIONS, INTERACTIONS, metric, 3, params, settings)
    assert result.users == pytest.approx(expected, rel=0, abs=1e-9)


def test_interval_of_precision_is_replays_half_width() -> None:
    """RePlay 0.13, CPU: quantile 0.975 of the normal distribution * sample deviation / sqrt(n)."""
    evaluator = Evaluator(
        recommendations=recommendation_frame(RECOMMENDATIONS),
        interactions=interaction_frame(INTERACTIONS),
    )
    (row,) = at_k(evaluator.evaluate(["precision"], k=[3]), 3).to_dict("records")
    assert row["n_users"] == 5
    assert row["std"] == pytest.approx(1 / 3, abs=1e-12)
    assert (row["ci_high"] - row["ci_low"]) / 2 == pytest.approx(0.2921741801922, abs=1e-12)
    assert (row["ci_high"] + row["ci_low"]) / 2 == pytest.approx(row["value"], abs=1e-12)
