"""What the columns of inputs, stages and results hold, in words."""

from __future__ import annotations

import re

_MEANINGS = {
    # keys
    "model": "the model whose list it is",
    "user_id": "the user",
    "item_id": "the item",
    "k": "the cutoff: how many items of a list count, from the top; NULL stands for whole lists",
    # inputs
    "rank": "the place in the list, 1 at the top",
    "score": "what the model orders its list by, high at the top",
    "relevance": "how relevant the item is to the user",
    "timestamp": "when it happened",
    "price": "the price of the item",
    "category": "a category of the item",
    "features": "the vector that describes the item",
    "dimension": "which component of the vector",
    "aspect": "an aspect of the item",
    "reward": "what the decision brought",
    "propensity": "the probability with which the decision was made",
    "row_number": "the place of the row in its table",
    # lists and truth
    "n_rows": "number of rows",
    "n_items": "number of different items",
    "n_repeats": "number of rows whose item is in the list before",
    "n_expected": "number of items that are in the baseline list too",
    "n_lists": "number of lists",
    "n_users": "number of users",
    "n_listed": "number of recommended items",
    "n_seen": "number of users that have an item, added up over the items",
    "log2_users": "log2 of the number of users, in units of 1e-15; of several items, the sum",
    "n_recommended": "number of items in the list",
    "n_relevant": "number of items that are relevant to the user",
    "best_relevance": "the highest relevance of an item to the user",
    "copy_number": "which copy of the item in its list it is, from the top",
    "first_k": "the smallest cutoff that the item lies within",
    "best_rank": "the best rank of the item in any list",
    "last_rank": "the largest rank of the list",
    # hits
    "hit_number": "number of hits in the list up to this one",
    "is_relevant": "1 if the item is relevant to its user, else 0",
    "predicted": "what the model predicts, high for what it puts on top",
    "ideal_gain": "the gain of the best possible list up to this position",
    "harmonic": "1 + 1/2 + … up to this position",
    "stop_probability": "the probability that a reader who gets here stops",
    "look_probability": "the probability that a reader gets here",
    "n_above": "number of hits above with the same aspect",
    "agreement": "judged items above that score and relevance order alike, less those they do not",
    "n_predicted_differ": "judged items above with another prediction",
    "n_relevance_differ": "judged items above with another relevance",
    "relative_price": "the price, divided by the highest of all",
    "relevant_price": "the price of a hit; NULL of what is none",
    "revenue": "the total price of the items that are relevant to the user",
    "run": "which draw of users it is",
    # logged decisions, sums and means over a group of them
    "n_logged": "number of items that are in the logs",
    "least_reward": "the smallest reward",
    "most_reward": "the largest reward",
    "weight": "the sum of the weights",
    "squared_weight": "the sum of the squared weights",
    "weighted_difference": "the sum of weight times reward less the mean of all",
    "squared_difference": "the sum of the squares of that product",
    "difference_and_weight": "the sum of that product times the weight",
    "corrected_score": "the mean of the score, corrected by what was logged",
    "weighted_reward": "the mean of weight times reward",
    # vectors
    "block": "which part of the vector",
    "n_nonzero": "number of vectors that are not zero",
    # results
    "metric": "the metric, with the settings that were given for it",
    "convention": "whose definition made the value",
    "value": "the value",
    "std": "the standard deviation of the users' values",
    "standard_error": "the standard error of the value",
    "ci_low": "the lower end of the interval",
    "ci_high": "the upper end of the interval",
    "position": "what rows are ordered by",
    "label": "the name of the slice",
    "slice": "the number of the slice",
    "item_slice": "the number of the slice of items",
}
_NUMBERED = {
    "component": "component {} of this part of the vector",
    "label": "the name of the slice, by column {} of those that are sliced by",
    "position": "the place of that name among the others, by column {}",
}
_OF_MEANS = {
    "_variance": "the variance of {} in the group",
    "_difference": "the mean of {} less that of the first group",
}


def meaning(column: str) -> str:
    """Say what a column holds; an empty text if that is not known."""
    numbered = re.fullmatch(r"([a-z]+)_([0-9]+)", column)
    if numbered and numbered[1] in _NUMBERED:
        return _NUMBERED[numbered[1]].format(numbered[2])
    if column in _MEANINGS:
        return _MEANINGS[column]
    ends = (end for end in _OF_MEANS if column.endswith(end))
    return next((_OF_MEANS[end].format(column.removesuffix(end)) for end in ends), "")
