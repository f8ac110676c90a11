{#- What all metrics share: they check their arguments here, and read the tables. -#}

{#- ---- arguments ---------------------------------------------------------------------------- -#}

{% macro _check_cutoff(metric, cutoff) -%}
{%- if cutoff is not integer or cutoff is boolean or cutoff < 1 or cutoff > 9999 -%}
    {%- set found = ("is the text " if cutoff is string else "is ") ~ cutoff -%}
    {%- set found = "is missing" if cutoff is none else found -%}
    {{ exceptions.raise_compiler_error(
        "ranking_metrics." ~ metric ~ ": cutoff " ~ found ~ ". Pass a whole number from 1 to 9999, "
        ~ "such as cutoff=10; call the macro once for each cutoff."
    ) }}
{%- endif -%}
{%- endmacro %}

{% macro _check_relation(metric, table, relation, content) -%}
{%- if not relation -%}
    {{ exceptions.raise_compiler_error(
        "ranking_metrics." ~ metric ~ ": " ~ table ~ " is missing. Pass the relation with the "
        ~ content ~ ", such as " ~ table ~ "=ref('" ~ table ~ "')."
    ) }}
{%- endif -%}
{%- endmacro %}

{% macro _check_threshold(test, threshold) -%}
{%- if threshold is not number or threshold is boolean -%}
    {%- set found = ("is the text " if threshold is string else "is ") ~ threshold -%}
    {%- set found = "is missing" if threshold is none else found -%}
    {{ exceptions.raise_compiler_error(
        "ranking_metrics." ~ test ~ ": threshold " ~ found ~ ". Pass a number, such as 0.3."
    ) }}
{%- endif -%}
{%- endmacro %}

{% macro _no_sql(metric) -%}
{{ exceptions.raise_compiler_error(
    "ranking_metrics." ~ metric ~ " has no SQL for the adapter " ~ target.type ~ ". It has SQL for "
    ~ "athena, bigquery, clickhouse, databricks, duckdb, postgres, redshift, snowflake, spark and "
    ~ "trino. Write the macro " ~ target.type ~ "__" ~ metric ~ " in your project and name your "
    ~ "project in the setting dispatch of dbt_project.yml."
) }}
{%- endmacro %}

{#- ---- tables ------------------------------------------------------------------------------- -#}

{% macro _named(column, name) -%}
{{ column if column == name else column ~ " AS " ~ name }}
{%- endmacro %}

{% macro _ranked_lists(
    metric, recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- do ranking_metrics._check_relation(
    metric, "recommendations", recommendations, "ranked lists"
) -%}
{%- if score_column -%}
-- one row per recommended item, with its rank in the list; equal scores are ordered by item
SELECT
    {{ ranking_metrics._named(user_column, "user_id") }},
    {{ ranking_metrics._named(item_column, "item_id") }},
    row_number() OVER (
        PARTITION BY {{ user_column }}
        ORDER BY {{ score_column }} DESC NULLS LAST, {{ item_column }}
    ) AS rank
FROM {{ recommendations }}
{%- else -%}
-- one row per recommended item, with its rank in the list
SELECT
    {{ ranking_metrics._named(user_column, "user_id") }},
    {{ ranking_metrics._named(item_column, "item_id") }},
    {{ ranking_metrics._named(rank_column, "rank") }}
FROM {{ recommendations }}
{%- endif -%}
{%- endmacro %}

{% macro _scored_lists(
    metric, recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- do ranking_metrics._check_relation(
    metric, "recommendations", recommendations, "ranked lists"
) -%}
{%- if not score_column and not rank_column -%}
    {{ exceptions.raise_compiler_error(
        "ranking_metrics." ~ metric ~ ": score_column is missing. This metric compares predicted "
        ~ "scores with the interactions. Pass the column of the scores, such as "
        ~ "score_column='score'."
    ) }}
{%- endif -%}
{%- if score_column -%}
-- one row per recommended item, with its score
{%- else -%}
-- one row per recommended item; its negative rank is its score
{%- endif %}
SELECT
    {{ ranking_metrics._named(user_column, "user_id") }},
    {{ ranking_metrics._named(item_column, "item_id") }},
    {{ ranking_metrics._named(score_column or "-(" ~ rank_column ~ ")", "score") }}
FROM {{ recommendations }}
{%- endmacro %}

{% macro _held_out(
    metric, interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{%- do ranking_metrics._check_relation(
    metric, "interactions", interactions, "held-out interactions"
) -%}
{%- if needs_relevance and not relevance_column -%}
    {{ exceptions.raise_compiler_error(
        "ranking_metrics." ~ metric ~ ": relevance_column is missing. This metric reads the "
        ~ "relevance of interactions. Pass its column, such as relevance_column='relevance'."
    ) }}
{%- endif -%}
{%- if relevance_column -%}
-- one row per held-out interaction
{%- else -%}
-- one row per held-out interaction; all are relevant
{%- endif %}
SELECT
    {{ ranking_metrics._named(user_column, "user_id") }},
    {{ ranking_metrics._named(item_column, "item_id") }},
    {{ ranking_metrics._named(relevance_column or "1", "relevance") }}
FROM {{ interactions }}
{%- endmacro %}

{#- ---- tests -------------------------------------------------------------------------------- -#}

{% macro _at_least(metric, result, cutoff, threshold) -%}
{%- do ranking_metrics._check_threshold(metric ~ "_at_least", threshold) -%}
-- one row if the value is below the threshold, or undefined
SELECT
    '{{ metric }}@{{ cutoff }} is less than {{ threshold }}' AS problem,
    value,
    n_users
FROM (
    {{ result | indent(4) }}
) AS result
WHERE value IS NULL OR value < {{ threshold }}
{%- endmacro %}

{% macro _at_most(metric, result, cutoff, threshold) -%}
{%- do ranking_metrics._check_threshold(metric ~ "_at_most", threshold) -%}
-- one row if the value is above the threshold, or undefined
SELECT
    '{{ metric }}@{{ cutoff }} is more than {{ threshold }}' AS problem,
    value,
    n_users
FROM (
    {{ result | indent(4) }}
) AS result
WHERE value IS NULL OR value > {{ threshold }}
{%- endmacro %}
