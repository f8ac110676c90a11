{#- CTEs that end in `name`: the numbers 1, 2, … `last`, in `column`. `last` is a number, or an
    expression that is at least the number `known`. DuckDB counts. Elsewhere, numbers are put
    together of digits, the highest place first, and what is above `last` is dropped at every place,
    so that there are never many more rows than numbers. An expression gets numbers of 7 digits at
    most: of lists with ten million items or more, later positions are missing. `opening`: "WITH "
    where they are the first CTEs of a query. -#}
{%- macro number_series(name, column, last, dialect, known=1, opening="") -%}
{%- set places = last | string | length if last is number else [7, known | string | length] | max -%}
{%- if dialect == "duckdb" and last is number -%}
-- one row per number
{{ opening }}{{ name }} AS (
    SELECT {{ name }}.{{ column }}
    FROM range(1, {{ last }} + 1) AS {{ name }} ({{ column }})
)
{%- elif dialect == "duckdb" -%}
-- one row per number
{{ opening }}{{ name }} AS (
    SELECT unnest(range(1, 1 + {{ last }})) AS {{ column }}
)
{%- else -%}
-- one row per digit
{{ opening }}digits AS (
    SELECT digits.digit
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS digits (digit)
),

-- one row: where the numbers end
numbers_{{ places }} AS (
    SELECT
        0 AS {{ column }},
        {{ last }} AS last_number
),
{% for place in range(places - 1, -1, -1) %}
{%- set above, unit = "numbers_" ~ (place + 1), 10 ** place %}
-- one row per multiple of {{ unit }} up to there
numbers_{{ place }} AS (
    SELECT
        {{ above }}.{{ column }} + {{ unit }} * digits.digit AS {{ column }},
        {{ above }}.last_number
    FROM {{ above }}
    CROSS JOIN digits
    WHERE {{ above }}.{{ column }} + {{ unit }} * digits.digit <= {{ above }}.last_number
),
{% endfor %}
-- one row per number
{{ name }} AS (
    SELECT numbers_0.{{ column }}
    FROM numbers_0
    WHERE numbers_0.{{ column }} > 0
)
{%- endif -%}
{%- endmacro -%}
