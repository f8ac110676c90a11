-- one row per recommended item, with other names of columns; an ephemeral model is a CTE
{{ config(materialized='ephemeral') }}

SELECT
    user_id AS customer,
    item_id AS sku,
    score AS model_score
FROM {{ ref('recommendations') }}
