{#- The numbers 1, 2, … `last` where there is no function that counts: CTEs that end in `name`, with
    the numbers in `column`. `last` is a number, or an expression that is at least the number `known`.
    Numbers are put together of digits, the highest place first, and what is above `last` is dropped
    at every place, so that there are never many more rows than numbers. An expression gets numbers
    of 7 digits at most: of lists with ten million items or more, later positions are missing. -#}
{%- macro numbers_of_digits(name, column, last, known=1) -%}
{%- set places = last | string | length if last is number else [7, known | string | length] | max -%}
-- one row per digit
digits AS (
    SELECT digits.digit
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS digits (digit)
),

-- one row: where the numbers end
{{ name }}_{{ places }} AS (
    SELECT
        0 AS {{ column }},
        {{ last }} AS last_number
),
{% for place in range(places - 1, -1, -1) %}
{%- set above, unit = name ~ "_" ~ (place + 1), 10 ** place %}
-- one row per multiple of {{ unit }} up to there
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
