{#- The hash of a value. Equal values of different types have the same hash: numbers of any width,
    text and ENUM, times of any precision. -#}
{%- macro value_hash(column) -%}
{%- set value = ident(column.name) -%}
{%- if column.kind == "whole" -%} hash(CAST({{ value }} AS BIGINT))
{%- elif column.kind == "number" -%}
CASE
            WHEN try_cast({{ value }} AS BIGINT) = {{ value }}
                THEN hash(try_cast({{ value }} AS BIGINT))
            ELSE hash(CAST({{ value }} AS {{ column.otherwise }}))
        END
{%- elif column.kind == "time" -%} hash(epoch_us({{ value }}))
{%- elif column.kind == "nanoseconds" -%}
CASE
            WHEN epoch_ns({{ value }}) % 1000 = 0 THEN hash(epoch_us({{ value }}))
            ELSE hash(epoch_ns({{ value }}))
        END
{%- else -%} hash(CAST({{ value }} AS VARCHAR))
{%- endif -%}
{%- endmacro -%}
