"""Names of metrics in other systems: accepted under their convention, suggested elsewhere."""

from __future__ import annotations

import pytest

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.definitions import Definitions

CATALOG = Catalog.load()


def calls(metric: str, *conventions: str) -> list[str]:
    """Return the specs that a metric stands for under these conventions."""
    definitions = Definitions.load(CATALOG, conventions, None, {})
    requests = definitions.requests(definitions.specs(metric, None))
    return [f"{request.name}@{request.k}" for request in requests]


@pytest.mark.parametrize(
    ("metric", "convention", "ours"),
    [
        ("MeanInvUserFreq@10", "rectools", "surprisal@10"),
        ("MAP(divide_by_k=True)@5", "rectools", "map(divisor=k)@5"),
        ("map(divide_by_k=True, aggregate=median)@5", "rectools", None),
        ("nDCGRendle2020@10", "elliot", "ndcg(gain=binary)@10"),
        ("P@10", "trec_eval", "precision@10"),
        ("P(aggregate=median)@10", "trec_eval", "precision(aggregate=median)@10"),
        ("recip_rank", "trec_eval", "mrr@None"),
        ("11pt_avg", "trec_eval", "eleven_point@None"),
        ("ndcg_burges@3", "ranx", "ndcg(gain=exponential)@3"),
        ("ndcg_burges(gain=binary)@3", "ranx", "ndcg(gain=binary)@3"),
        ("AUC@3", "course", "roc_auc@3"),  # auc is another metric, which course does not have
        ("AUC@3", "jurity", "auc@3"),
        ("nDCG@10", "ir_measures", "ndcg@10"),
        ("AP(rel=2)@100", "ir_measures", "map(relevant_from=2)@100"),
        ("RBP(rel=2, p=0.5)", "ir_measures", "rbp(p=0.5, relevant_from=2)@None"),
        ("FMeasureAtK(relevant_threshold=3)@5", "clayrs", "f_beta(relevant_from=3)@5"),
        ("RecallTopK(min_rel_score=2)@5", "evidently", "recall(relevant_from=2)@5"),
        ("hits_at_k@5", "rexmex", "precision@5"),
        ("IPrec@0.1", "ir_measures", "interpolated_precision(recall=0.1)@None"),
        ("IPrec@0.25", "ir_measures", "interpolated_precision(recall=0.25)@None"),
        ("P_10", "trec_eval", "precision@10"),
        ("P.10", "trec_eval", "precision@10"),
        ("ndcg_cut.5", "trec_eval", "ndcg@5"),
        ("iprec_at_recall_0.1", "trec_eval", "interpolated_precision(recall=0.1)@None"),
        ("iprec_at_recall.0.10", "trec_eval", "interpolated_precision(recall=0.1)@None"),
        ("iprec_at_recall_0.0", "trec_eval", "interpolated_precision(recall=0)@None"),
        ("ndcg_cut_10", "trec_eval", "ndcg@10"),
        ("map_cut_100", "trec_eval", "map@100"),
        ("success_1", "trec_eval", "hit_rate@1"),
        ("relative_P_5", "trec_eval", "precision(divisor=min_k_relevant)@5"),
        ("iprec_at_recall_0.10", "trec_eval", "interpolated_precision(recall=0.1)@None"),
        ("gm_map", "trec_eval", "map(aggregate=geometric_mean)@None"),
        ("infAP", "trec_eval", "inf_ap@None"),
        ("ERR@20", "ir_measures", "err@20"),
        ('nDCG(dcg="exp-log2")@10', "ir_measures", "ndcg(gain=exponential)@10"),
        ("NERR10(max_rel=2)", "ir_measures", "cwl(browsing=nerr10, max_grade=2)@None"),
        ("INST(T=3, max_rel=2)", "ir_measures", "cwl(browsing=inst, max_grade=2, target=3)@None"),
    ],
)
def test_names_under_their_convention(metric: str, convention: str, ours: str | None) -> None:
    if ours is None:
        with pytest.raises(UsageError, match="unknown parameter 'divide_by_k'"):
            calls(metric, convention)
    else:
        assert calls(metric, convention) == [ours]


@pytest.mark.parametrize(
    ("metric", "convention", "message"),
    [
        ("IPrec@0.1", "standard", "k must be a positive whole number, not '0.1'"),
        ("P@0.5", "ir_measures", "k must be a positive whole number, not '0.5'"),
        ("AP(rel=2)@100", "standard", "unknown parameter 'rel'"),
        ("AP(p=2)@100", "ir_measures", "unknown parameter 'p'"),
    ],
)
def test_parameters_of_a_system_that_do_not_apply(
    metric: str, convention: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        calls(metric, convention)


def test_a_name_of_one_convention_applies_to_all() -> None:
    assert calls("P@10", "trec_eval", "standard") == ["precision@10"] * 2
    assert calls("P@10", "standard", "trec_eval") == ["precision@10"] * 2


@pytest.mark.parametrize(
    ("metric", "hint"),
    [
        (
            "hr",
            "; it is the name of hit_rate in elliot and omnirec. Write hit_rate, or choose the "
            "convention",
        ),
        ("recip_rank", "; it is the name of mrr in lenskit and trec_eval. Write mrr"),
        (
            "average_precision",
            "; it is the name of map in lenskit, and of pr_auc in rexmex. Write map, or choose",
        ),
        ("novelty", "; metrics of novelty are efd, epc, group_popularity_lift, "),
        ("ndgc", "; did you mean 'ndcg'"),
        ("ndcg_cut_10", "; it is the name of ndcg@10 in trec_eval. Write ndcg@10, or choose"),
        ("map_at_5", "; a cutoff is written with @: map@5 ("),
        ("p_10", "; it is the name of precision@10 in trec_eval. Write precision@10, or choose"),
    ],
)
def test_unknown_names_are_looked_up_in_the_conventions(metric: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        calls(metric, "standard")
    assert str(raised.value).startswith(f"unknown metric {metric!r}{hint}")


def test_our_names_keep_their_meaning_among_several_conventions() -> None:
    """The MAP of Cornac is another metric, which lrap computes."""
    assert calls("map@3", "cornac") == ["lrap@3"]
    assert {call.partition("(")[0].partition("@")[0] for call in calls("map@3", "all")} == {"map"}


@pytest.mark.parametrize("typed", ["RBPx@10", "RBPx"])
def test_unknown_names_stay_as_they_were_typed(typed: str) -> None:
    with pytest.raises(UsageError, match="unknown metric 'RBPx'"):
        calls(typed, "trec_eval")
