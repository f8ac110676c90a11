{#- Expressions that resample users. A hash of the user id assigns each user to a group, and whole
    groups are drawn, so that the cost does not grow with the number of users. With up to a few
    thousand users, nearly every user forms a group. Only text and integers are used, so every
    engine draws the same groups. -#}

{#- A hexadecimal digit as a number. -#}
{%- macro hex_digit(hash, place) -%}
strpos('0123456789abcdef', substring({{ hash }}, {{ place }}, 1)) - 1
{%- endmacro -%}

{#- The group of a user, 0 to 65535: the first four digits of a hash. A 64-bit integer, as it is
    multiplied by large numbers. -#}
{%- macro resample_group(hash) -%}
CAST(
        4096 * ({{ hex_digit(hash, 1) }})
        + 256 * ({{ hex_digit(hash, 2) }})
        + 16 * ({{ hex_digit(hash, 3) }})
        + ({{ hex_digit(hash, 4) }}) AS BIGINT
    )
{%- endmacro -%}

{#- CTEs up to `drawn`: a number from 0 to 2^31 - 2 for every resample and group of `groups`. A
    linear function of both would draw similar numbers for neighbours; squares prevent that. -#}
{%- macro drawn_numbers(groups, resamples, seed) -%}
-- one row per resample
resamples AS (
    SELECT unnest(generate_series(1, {{ resamples }})) AS resample
),

-- one row per group and resample, with a number that the next queries randomise
numbered AS (
    SELECT
        {{ groups }}.resample_group,
        resamples.resample,
        ({{ groups }}.resample_group * 48271 + resamples.resample * 69621 + {{ seed }}) % 2147483647
            AS number
    FROM {{ groups }}
    CROSS JOIN resamples
),

-- one row per group and resample, with a square, so that neighbours get different numbers
mixed AS (
    SELECT
        resample_group,
        resample,
        (number * number + 30269) % 2147483647 AS number
    FROM numbered
),

-- one row per group and resample, with a second square
mixed_again AS (
    SELECT
        resample_group,
        resample,
        (number * number + 76543) % 2147483647 AS number
    FROM mixed
),

-- one row per group and resample, with a random number from 0 to 2147483646
drawn AS (
    SELECT
        resample_group,
        resample,
        (number * 48271 + 11) % 2147483647 AS number
    FROM mixed_again
)
{%- endmacro -%}

{#- The number of draws of a group in a resample: Poisson-distributed with mean 1. -#}
{%- macro poisson_weight(number) -%}
CASE
            WHEN {{ number }} < 790015084 THEN 0
            WHEN {{ number }} < 1580030168 THEN 1
            WHEN {{ number }} < 1975037710 THEN 2
            WHEN {{ number }} < 2106706891 THEN 3
            WHEN {{ number }} < 2139624186 THEN 4
            WHEN {{ number }} < 2146207645 THEN 5
            WHEN {{ number }} < 2147304888 THEN 6
            WHEN {{ number }} < 2147461638 THEN 7
            WHEN {{ number }} < 2147481231 THEN 8
            ELSE 9
        END
{%- endmacro -%}

{#- TRUE if a group is in a half-sample. -#}
{%- macro is_in_half(number) -%}
{{ number }} >= 1073741824
{%- endmacro -%}

{#- The sign of the differences of a group. -#}
{%- macro random_sign(number) -%}
CASE WHEN {{ is_in_half(number) }} THEN 1 ELSE -1 END
{%- endmacro -%}
