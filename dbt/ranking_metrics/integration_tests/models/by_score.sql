-- one row per metric, of lists that are ordered by score, with other names of columns
{%- for metric in ['hit_rate', 'map', 'mrr', 'ndcg', 'precision', 'recall'] %}
SELECT
    metric,
    k,
    value,
    n_users
FROM (
    {{ ranking_metrics[metric](
        recommendations=ref('lists'),
        interactions=ref('held_out'),
        cutoff=3,
        user_column='customer',
        item_column='sku',
        score_column='model_score'
    ) | indent(4) }}
) AS {{ metric }}
{% if not loop.last %}UNION ALL{% endif %}
{%- endfor %}
