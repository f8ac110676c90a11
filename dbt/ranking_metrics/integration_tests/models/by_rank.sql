-- one row per metric, of lists that are ordered by rank
{%- for metric in ['hit_rate', 'map', 'mrr', 'ndcg', 'precision', 'recall'] %}
SELECT
    metric,
    k,
    value,
    n_users
FROM (
    {{ ranking_metrics[metric](
        recommendations=ref('recommendations'),
        interactions=ref('interactions'),
        cutoff=3,
        relevance_column='relevance'
    ) | indent(4) }}
) AS {{ metric }}
{% if not loop.last %}UNION ALL{% endif %}
{%- endfor %}
