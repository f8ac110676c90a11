{#- CTEs with the numbers 1, 2, … `last`, where no function generates them. The
    last CTE is `name`, with the numbers in `column`. `last`: a number, or an expression that is at
    least the number `known`. Numbers are built digit by digit, the highest place first; at every
    place, numbers above `last` are dropped, which keeps the number of rows small. An expression
    yields numbers of at most 7 digits: lists of ten million items or more lack their later
    positions. -#}
{%- macro numbers_of_digits(name, column, last, known=1) -%}
{%- set places = last | string | length if last is number else [7, known | string | length] | max -%}
-- one row per digit
digits AS (
    SELECT digits.digit
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS digits (digit)
),

-- one row: the last number
{{ name }}_{{ places }} AS (
    SELECT
        0 AS {{ column }},
        {{ last }} AS last_number
),
{% for place in range(places - 1, -1, -1) %}
{%- set above, unit = name ~ "_" ~ (place + 1), 10 ** place %}
-- one row per multiple of {{ unit }} up to the last number
{{ name }}_{{ place }} AS (
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
    SELECT {{ name }}_0.{{ column }}
    FROM {{ name }}_0
    WHERE {{ name }}_0.{{ column }} > 0
)
{%- endmacro -%}
