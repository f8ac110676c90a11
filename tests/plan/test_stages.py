"""Evaluator.stage for every stage and table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

import pyarrow as pa
import pytest

import sqlmetrics as sm
from tests.support import further_tables
from tests.support.further_tables import CATALOG, SCORED, TABLES, Evaluator

# stage -> a metric that reads it, and the number of its rows over the tables above
STAGES: dict[str, tuple[str, int]] = {
    "accepted_users": ("debiased", 1),
    "agreement_depths": ("rbo", 2),
    "aspect_hits": ("alpha_ndcg", 2),
    "aspect_users": ("alpha_ndcg", 2),
    "attainable_weights": ("psp", 4),  # two hits, and a position of the best list per user
    "audience": ("mrr", 2),
    "audience_hits": ("mean_rank(unlisted=catalogue_mean)", 4),
    "audience_judged": ("rbp(output=residual)", 6),
    "audience_matches": ("bpref", 6),
    "audience_sizes": ("expected_exposure", 1),
    "audience_truth": ("n_relevant", 2),
    "baseline_lists": ("overlap", 2),
    "baseline_ranked": ("unexpectedness", 3),
    "baseline_users": ("unexpectedness", 2),
    "cascades": ("err", 2),
    "catalogue": ("coverage", 4),
    "category_totals": ("category_entropy", 2),
    "category_weights": ("category_coverage", 4),
    "catalogue_matches": ("mcc", 6),  # 4 recommended items of the catalogue, and 2 users
    "credited": ("rbp(gain=linear, unjudged=best)", 4),
    "cutoffs": ("mrr", 1),
    "decision_terms": ("ips", 4),
    "decisions": ("ips", 4),
    "diverse_ideal": ("alpha_ndcg", 2),  # each user wants one item
    "first_group_ranks": ("awrf", 2),
    "expected_items": ("unexpectedness", 4),
    "exposure": ("coverage", 3),
    "cut_list_hits": ("ndcg(ideal=hits_of_list, list_k=2)@2", 2),
    "first_lists": ("mrr", 4),
    "gains": ("cwl", 2),
    "graded": ("precision(order=score, ties=worst)", 4),
    "graded_items": ("pairwise_accuracy", 4),
    "graded_pairs": ("pairwise_accuracy", 2),
    "harmonics": ("map(divisor=all_positions)", 2),
    "highest_relevance": ("rbp(gain=linear, unjudged=best)", 1),
    "history_users": ("popularity", 1),
    "head_items": ("tail_share", 3),  # the item with 2 of 5 pairs, and two of three with one each
    "histories": ("unseen", 3),
    "history_groups": ("bias_disparity", 2),
    "history_vectors": ("serendipity(against=history, over=features)", 6),
    "history_popularity": ("popularity_lift", 3),
    "history_categories": ("calibration", 5),
    "hit_ranks": ("ndcg", 2),
    "hits": ("ndcg", 2),
    "hit_places": ("mrr", 1),
    "hits_by_misses": ("partial_auc", 2),
    "ideal_depths": ("compat", 2),
    "ideal_groups": ("expected_exposure", 2),
    "hit_ideals": ("ndcg(gain=linear, ideal=hits_of_list)", 2),
    "ideal_hits": ("compat", 2),
    "ideal_lists": ("ndcg(gain=linear)", 2),
    "interaction_profile": ("mrr", 2),
    "item_distances": ("intra_list_diversity(distance=hamming)", 2),
    "item_lists": ("inter_list_diversity", 4),
    "group_divergences": ("ndkl", 4),
    "group_exposures": ("expected_exposure", 6),  # four recommended items, and two of ideal lists
    "group_places": ("awrf", 4),
    "group_weights": ("awrf", 4),
    "group_targets": ("awrf", 2),
    "given_targets": ("awrf(target=given)", 2),
    "group_sizes": ("exposure_parity", 2),
    "grouped_items": ("exposure_parity", 4),
    "hit_groups": ("gain_utility", 4),  # two hits, and two groups
    "item_group_shares": ("exposure_parity", 4),
    "item_category_shares": ("category_coverage", 5),  # an item has two categories
    "item_similarities": ("serendipity(against=history)", 6),
    "item_popularity": ("popularity", 4),
    "item_targets": ("awrf(target=given)", 4),
    "item_propensities": ("ips_recall(propensity=column)", 4),
    "item_rows": ("popularity(counted=rows)", 4),
    "item_prices": ("money_precision", 4),
    "unseen_groups": ("statistical_parity", 2),
    "unseen_matches": ("gauc", 4),
    "user_weights": ("mrr(aggregate=weighted_mean)", 2),
    "item_blocks": ("intra_list_diversity", 4),  # a vector of two components is one block
    "item_vectors": ("intra_list_diversity", 8),
    "judged": ("kendall_tau", 4),
    "judged_items": ("judged", 4),
    "judged_users": ("bpref", 2),
    "judged_pairs": ("judged", 4),
    "judgements": ("judged", 4),
    "kept_hits": ("debiased", 4),  # two hits, and a row per user
    "kept_relevant": ("debiased", 2),
    "labelled_items": ("lrap", 4),
    "list_blocks": ("intra_list_diversity", 2),
    "listed_catalogue": ("mcc", 4),
    "list_times": ("item_age", 2),
    "listed_ages": ("item_age", 4),
    "listed_valid": ("valid_items", 4),
    "listed_judged": ("rbp(output=residual)", 4),
    "listed_categories": ("category_coverage", 5),
    "listed_groups": ("exposure_parity", 4),  # two ranks, of one group each, and two groups
    "listed_history": ("unseen", 4),
    "listed_items": ("gini", 4),
    "listed_pairs": ("intra_list_diversity(distance=hamming)", 4),
    "listed_popularity": ("popularity", 4),
    "listed_similarities": ("serendipity(against=history)", 4),
    "listed_quantiles": ("popularity(scale=rank)", 4),
    "listed_tail": ("tail_share", 4),
    "listed_rows": ("popularity(counted=rows)", 4),
    "listed_vectors": ("intra_list_diversity", 8),
    "list_lengths": ("n_recommended", 2),
    "listed": ("popularity", 4),  # for metrics of one's own; no other reads it
    "lists": ("mrr", 2),
    "matched": ("spearman_rho", 4),
    "matched_pairs": ("kendall_tau", 4),
    "mean_reward": ("ctr", 1),
    "model_histories": ("attribute_shift", 2),
    "models": ("coverage", 1),
    "pool_hits": ("inf_ap", 2),
    "pooled": ("inf_ap", 4),
    "popularity_groups": ("upd", 4),
    "popularity_ranks": ("serendipity", 4),
    "popularity_quantiles": ("popularity(scale=rank)", 4),
    "ordered_groups": ("pairwise_parity", 4),
    "positions": ("ndcg", 2),
    "predictions": ("mae", 4),
    "probabilities": ("brier(scores=logit)", 4),
    "purchases": ("money_precision", 6),  # 4 recommended items and 2 hits
    "ranked": ("mrr", 4),
    "reader_hits": ("cwl", 4),  # two hits, and a row of the whole list per user
    "reader_ranks": ("cwl", 1000),
    "recent_history": ("calibration(history_weight=recency)", 5),
    "recommendation_profile": ("mrr", 2),
    "recommended_items": ("coverage", 3),
    "relevant": ("recall", 2),
    "relevant_aspects": ("alpha_ndcg", 2),
    "relevant_groups": ("exposure_utility", 2),
    "relevant_users": ("recall", 2),
    "relevant_weights": ("ips_recall", 2),
    "repeated_aspects": ("err_ia", 2),
    "repeated_baseline": ("unexpectedness", 0),
    "repeated_interactions": ("mrr", 0),  # no item is there twice
    "repeated_recommendations": ("mrr", 0),
    "repeats": ("mrr", 1),
    "revenues": ("money_recall", 2),
    "sampled_users": ("intra_list_diversity(sample_users=1, runs=3)", 3),
    "scaled_hits": ("rbp(gain=linear)", 2),
    "seen": ("popularity", 5),
    "surveyed_users": ("mrr", 2),
    "top_relevance": ("err", 1),
    "weighted_ideal": ("ips_ndcg", 2),
    "weighted_history": ("calibration(history_weight=column)", 5),
    "weighted_users": ("ips_recall", 2),
}


USERS = pa.table({"user_id": [1, 2], "weight": [2.0, 1.0]})

N_ROWS = TABLES["history"].num_rows
EVERYTHING = {
    **further_tables.EVERYTHING,
    "history": TABLES["history"]
    .append_column("timestamp", pa.array([datetime(2024, 5, day) for day in range(1, N_ROWS + 1)]))
    .append_column("weight", pa.array([1.0] * N_ROWS)),
    "recommendations": SCORED.append_column("timestamp", pa.array([datetime(2024, 6, 1)] * 4)),
    "items": further_tables.ITEMS.append_column(
        "created_at", pa.array([datetime(2024, 5, day) for day in (1, 2, 3, 4)])
    ),
}


@pytest.fixture(scope="module")
def everything() -> Iterator[sm.Evaluator]:
    with Evaluator(**EVERYTHING, users=USERS) as evaluator:
        yield evaluator


@pytest.fixture(scope="module")
def two_models() -> Iterator[sm.Evaluator]:
    models = dict.fromkeys(("one", "two"), EVERYTHING["recommendations"])
    with Evaluator(**{**EVERYTHING, "recommendations": models}, users=USERS) as evaluator:
        yield evaluator


def test_every_stage_can_be_looked_at(two_models: sm.Evaluator) -> None:
    of_policies = {
        "logged_rounds", "policies", "policy_rounds", "repeated_rounds", "round_totals", "rounds",
        "slates",
    }  # fmt: skip
    of_positions = {"logged_positions", "logged_users"}
    # test_off_policy has the tables that those of policies and positions need
    assert set(STAGES) == set(CATALOG.stages) - of_policies - of_positions
    wrong = {}
    for stage, (metric, n_rows) in STAGES.items():
        frame = two_models.stage(stage, metric)
        expected = 2 * n_rows if "model" in frame.columns else n_rows
        if len(frame) != expected or len(set(frame.columns)) < len(frame.columns):
            wrong[stage] = (len(frame), list(frame.columns))
    assert wrong == {}


def test_looks_without_a_metric(everything: sm.Evaluator) -> None:
    """Some stages need to know for which metric; the one that the message names will do."""
    wrong = {}
    for stage in STAGES.keys() - {
        "sampled_users",
        "cut_list_hits",
    }:  # which need a number in a spec
        try:
            everything.stage(stage)
        except sm.UsageError as error:
            advice = re.search(rf"stage\('{stage}', (?:metric=)?'([^']+)'\)", str(error))
            if advice is None or everything.stage(stage, advice[1]).empty:
                wrong[stage] = str(error)
    assert wrong == {}


def test_looks_at_further_tables(everything: sm.Evaluator) -> None:
    for name, table in TABLES.items():
        frame = everything.stage(name)
        assert (len(frame), "item_id" in frame.columns) == (table.num_rows, True), name


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("seen", "the table history.*history=…"),
        ("decisions", "the table logs.*logs=…"),
        ("purchases", "the table items.*price.*items=…"),
        ("matched", "the column relevance of the table interactions"),
        ("relevant_aspects", "the table aspects.*aspects=…"),
        ("baseline_ranked", "the table baseline.*baseline=…"),
    ],
)
def test_a_look_at_a_stage_whose_table_was_not_given(
    smallest: sm.Evaluator, stage: str, words: str
) -> None:
    with pytest.raises(sm.MissingTableError, match=words):
        smallest.stage(stage)
