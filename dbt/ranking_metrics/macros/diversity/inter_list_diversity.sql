{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Inter-list diversity
  Formula: mean over all pairs of users of 1 - (items in the top k of both users) / sqrt(length of
    one top k · length of the other).
  Undefined: fewer than two lists.
  Source: Jurity documentation, inter-list diversity.
-#}

{% macro inter_list_diversity(
    recommendations=none, cutoff=none, user_column='user_id', item_column='item_id',
    rank_column='rank', score_column=none
) -%}
{%- do ranking_metrics._check_cutoff('inter_list_diversity', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'inter_list_diversity', recommendations, user_column, item_column, rank_column, score_column
) -%}
{{ adapter.dispatch('inter_list_diversity', 'ranking_metrics')(recommendations, cutoff) }}
{%- endmacro %}

{% test inter_list_diversity_at_least(
    model, cutoff=none, threshold=none, user_column='user_id', item_column='item_id',
    rank_column='rank', score_column=none
) -%}
{%- set result = ranking_metrics.inter_list_diversity(model, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column) -%}
{{ ranking_metrics._at_least('inter_list_diversity', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__inter_list_diversity(recommendations, cutoff) -%}
{{ ranking_metrics._no_sql('inter_list_diversity') }}
{%- endmacro %}

{% macro duckdb__inter_list_diversity(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, count(*) AS n_rows FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT count(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), item_lists_at_cutoffs AS (
    -- one row per row of item_lists and cutoff that includes it
    SELECT item_id, n_rows AS n_recommended
    FROM ranked
    INNER JOIN recommendation_profile USING (user_id)
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
), weights AS (
    -- one row per item (and run); the weight sums 1 / sqrt(length) over the lists with the item
    SELECT 'recommendations' AS model, item_id, sum(1 / sqrt(least({{ cutoff }}, n_recommended))) AS weight
    FROM item_lists_at_cutoffs
    GROUP BY item_id
), runs AS (
    -- one row per run
    SELECT model, sum(weight * weight) AS squares FROM weights GROUP BY model
), inter_list_diversity AS (
    SELECT
        avg(
            CASE
                WHEN n_lists > 1
                THEN 1 - least(
                    greatest((squares - n_lists) / nullif(n_lists * (n_lists - 1), 0), 0), 1
                )
            END
        -- rounding may give slightly more than 1 without common items, less than 0 for equal lists
        ) AS value
    FROM runs
    CROSS JOIN models
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inter_list_diversity' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM inter_list_diversity
{%- endmacro %}

{% macro spark__inter_list_diversity(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT COUNT(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), item_lists_at_cutoffs AS (
    -- one row per row of item_lists and cutoff that includes it
    SELECT item_id, n_rows AS n_recommended
    FROM ranked
    INNER JOIN recommendation_profile USING (user_id)
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
), weights AS (
    -- one row per item (and run); the weight sums 1 / sqrt(length) over the lists with the item
    SELECT
        'recommendations' AS model, item_id,
        SUM(CAST(1 AS DOUBLE) / SQRT(LEAST({{ cutoff }}, n_recommended))) AS weight
    FROM item_lists_at_cutoffs
    GROUP BY item_id
), runs AS (
    -- one row per run
    SELECT model, SUM(weight * weight) AS squares FROM weights GROUP BY model
), inter_list_diversity AS (
    SELECT
        AVG(
            CASE
                WHEN n_lists > 1
                THEN 1 - LEAST(
                    GREATEST(CAST(squares - n_lists AS DOUBLE) / NULLIF(n_lists * (
                        n_lists - 1
                    ), 0), 0),
                    1
                )
            END
        -- rounding may give slightly more than 1 without common items, less than 0 for equal lists
        ) AS value
    FROM runs
    CROSS JOIN models
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inter_list_diversity' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM inter_list_diversity
{%- endmacro %}

{% macro snowflake__inter_list_diversity(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT COUNT(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), item_lists_at_cutoffs AS (
    -- one row per row of item_lists and cutoff that includes it
    SELECT item_id, n_rows AS n_recommended
    FROM ranked
    INNER JOIN recommendation_profile USING (user_id)
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
), weights AS (
    -- one row per item (and run); the weight sums 1 / sqrt(length) over the lists with the item
    SELECT
        'recommendations' AS model, item_id,
        SUM(CAST(1 AS DOUBLE) / SQRT(LEAST_IGNORE_NULLS({{ cutoff }}, n_recommended))) AS weight
    FROM item_lists_at_cutoffs
    GROUP BY item_id
), runs AS (
    -- one row per run
    SELECT model, SUM(weight * weight) AS squares FROM weights GROUP BY model
), inter_list_diversity AS (
    SELECT
        AVG(
            CASE
                WHEN n_lists > 1
                THEN 1 - LEAST_IGNORE_NULLS(
                    GREATEST_IGNORE_NULLS(CAST(squares - n_lists AS DOUBLE) / NULLIF(n_lists * (
                        n_lists - 1
                    ), 0), 0),
                    1
                )
            END
        -- rounding may give slightly more than 1 without common items, less than 0 for equal lists
        ) AS value
    FROM runs
    CROSS JOIN models
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inter_list_diversity' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM inter_list_diversity
{%- endmacro %}

{% macro bigquery__inter_list_diversity(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT COUNT(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS INT64) AS rank FROM recommendations
), item_lists_at_cutoffs AS (
    -- one row per row of item_lists and cutoff that includes it
    SELECT item_id, n_rows AS n_recommended
    FROM ranked
    INNER JOIN recommendation_profile USING (user_id)
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
), weights AS (
    -- one row per item (and run); the weight sums 1 / sqrt(length) over the lists with the item
    SELECT
        'recommendations' AS model, item_id,
        SUM(CAST(1 AS FLOAT64) / SQRT(LEAST({{ cutoff }}, COALESCE(n_recommended, {{ cutoff }})))) AS weight
    FROM item_lists_at_cutoffs
    GROUP BY item_id
), runs AS (
    -- one row per run
    SELECT model, SUM(weight * weight) AS squares FROM weights GROUP BY model
), inter_list_diversity AS (
    SELECT
        AVG(
            CASE
                WHEN n_lists > 1
                THEN 1 - LEAST(
                    COALESCE(
                        GREATEST(
                            COALESCE(CAST(squares - n_lists AS FLOAT64) / NULLIF(n_lists * (
                                n_lists - 1
                            ), 0), 0),
                            0
                        ),
                        1
                    ),
                    1
                )
            END
        -- rounding may give slightly more than 1 without common items, less than 0 for equal lists
        ) AS value
    FROM runs
    CROSS JOIN models
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inter_list_diversity' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS INT64) AS n_users,
    CAST(NULL AS FLOAT64) AS std, CAST(NULL AS FLOAT64) AS ci_low, CAST(NULL AS FLOAT64) AS ci_high
FROM inter_list_diversity
{%- endmacro %}

{% macro trino__inter_list_diversity(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT COUNT(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), item_lists_at_cutoffs AS (
    -- one row per row of item_lists and cutoff that includes it
    SELECT item_id, n_rows AS n_recommended
    FROM ranked
    INNER JOIN recommendation_profile USING (user_id)
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
), weights AS (
    -- one row per item (and run); the weight sums 1 / sqrt(length) over the lists with the item
    SELECT
        'recommendations' AS model, item_id,
        SUM(CAST(1 AS DOUBLE) / SQRT(LEAST({{ cutoff }}, COALESCE(n_recommended, {{ cutoff }})))) AS weight
    FROM item_lists_at_cutoffs
    GROUP BY item_id
), runs AS (
    -- one row per run
    SELECT model, SUM(weight * weight) AS squares FROM weights GROUP BY model
), inter_list_diversity AS (
    SELECT
        AVG(
            CASE
                WHEN n_lists > 1
                THEN 1 - LEAST(
                    COALESCE(
                        GREATEST(
                            COALESCE(CAST(squares - n_lists AS DOUBLE) / NULLIF(n_lists * (
                                n_lists - 1
                            ), 0), 0),
                            0
                        ),
                        1
                    ),
                    1
                )
            END
        -- rounding may give slightly more than 1 without common items, less than 0 for equal lists
        ) AS value
    FROM runs
    CROSS JOIN models
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inter_list_diversity' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM inter_list_diversity
{%- endmacro %}

{% macro athena__inter_list_diversity(recommendations, cutoff) -%}
{{ ranking_metrics.trino__inter_list_diversity(recommendations, cutoff) }}
{%- endmacro %}

{% macro clickhouse__inter_list_diversity(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_rows
    FROM recommendations
    GROUP BY user_id
), models AS (
    -- one row per model
    SELECT CAST(COUNT(*) AS Nullable(Int64)) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS Nullable(Int64)) AS rank FROM recommendations
), item_lists_at_cutoffs AS (
    -- one row per row of item_lists and cutoff that includes it
    SELECT item_id, n_rows AS n_recommended
    FROM ranked
    INNER JOIN recommendation_profile USING (user_id)
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
), weights AS (
    -- one row per item (and run); the weight sums 1 / sqrt(length) over the lists with the item
    SELECT
        'recommendations' AS model, item_id,
        SUM(CAST(1 AS Nullable(Float64)) / SQRT(LEAST({{ cutoff }}, n_recommended))) AS weight
    FROM item_lists_at_cutoffs
    GROUP BY item_id
), runs AS (
    -- one row per run
    SELECT model, SUM(weight * weight) AS squares FROM weights GROUP BY model
), inter_list_diversity AS (
    SELECT
        AVG(
            CASE
                WHEN n_lists > 1
                THEN 1 - LEAST(
                    GREATEST(
                        CAST(squares - n_lists AS Nullable(Float64)) / nullIf(n_lists * (
                            n_lists - 1
                        ), 0),
                        0
                    ),
                    1
                )
            END
        -- rounding may give slightly more than 1 without common items, less than 0 for equal lists
        ) AS value
    FROM runs
    CROSS JOIN models
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inter_list_diversity' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS Nullable(Int64)) AS n_users,
    CAST(NULL AS Nullable(Float64)) AS std, CAST(NULL AS Nullable(Float64)) AS ci_low,
    CAST(NULL AS Nullable(Float64)) AS ci_high
FROM inter_list_diversity
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__inter_list_diversity(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT COUNT(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), item_lists_at_cutoffs AS (
    -- one row per row of item_lists and cutoff that includes it
    SELECT item_id, n_rows AS n_recommended
    FROM ranked
    INNER JOIN recommendation_profile USING (user_id)
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
), weights AS (
    -- one row per item (and run); the weight sums 1 / sqrt(length) over the lists with the item
    SELECT
        'recommendations' AS model, item_id,
        SUM(CAST(1 AS DOUBLE PRECISION) / SQRT(LEAST({{ cutoff }}, n_recommended))) AS weight
    FROM item_lists_at_cutoffs
    GROUP BY item_id
), runs AS (
    -- one row per run
    SELECT model, SUM(weight * weight) AS squares FROM weights GROUP BY model
), inter_list_diversity AS (
    SELECT
        AVG(
            CASE
                WHEN n_lists > 1
                THEN 1 - LEAST(
                    GREATEST(
                        CAST(squares - n_lists AS DOUBLE PRECISION) / NULLIF(n_lists * (
                            n_lists - 1
                        ), 0),
                        0
                    ),
                    1
                )
            END
        -- rounding may give slightly more than 1 without common items, less than 0 for equal lists
        ) AS value
    FROM runs
    CROSS JOIN models
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inter_list_diversity' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE PRECISION) AS std, CAST(NULL AS DOUBLE PRECISION) AS ci_low,
    CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM inter_list_diversity
{%- endmacro %}
