"""rbo: the mean over the users of the similarity of the first k items of two lists."""

from statistics import mean

from rbo import RankingSimilarity

from given import main


def measure(given, model):
    lists = given.by_user(given.lists(model))
    baseline = given.by_user(sorted(given.rows("baseline"), key=lambda row: row["rank"]))
    for p in (0.9, 0.5, 1):
        for k in given.cutoffs:
            yield (
                f"rbo(p={p})",
                k,
                lambda p=p, k=k: mean(
                    RankingSimilarity(items[:k], baseline[user][:k]).rbo(p=p)
                    for user, items in lists.items()
                ),
            )


main(measure)
