{{ config(materialized='table') }}

{{ ranking_metrics.ndcg(
    ref('lists'), ref('held_out'), cutoff=3, user_column='customer', item_column='sku',
    score_column='model_score'
) }}
