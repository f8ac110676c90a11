-- one row if the test does not find the value
SELECT count(*) AS n_found
FROM (
    {{ ranking_metrics.test_recall_at_least(
        ref('recommendations'), interactions=ref('interactions'), cutoff=3, threshold=0.4
    ) | indent(4) }}
) AS found
WHERE problem = 'recall@3 is less than 0.4' AND n_users = 5
HAVING count(*) <> 1
