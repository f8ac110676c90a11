{#- One cell of a summary, in the column value, n_users, std, ci_low, ci_high, n_runs or std_runs.
    `table`: the table of totals; `row`: the names of its columns; `z`: the half width of intervals in standard errors,
    or none for no intervals. -#}
{%- macro summary_cell(table, row, column, z) -%}
{%- set of_users, is_mean = row.grain == "user", row.aggregate == "mean" -%}
{%- set value = table.name ~ "." ~ ident(row.name ~ "_value" if of_users else row.name) -%}
{%- set n_users = table.name ~ "." ~ ident(row.name ~ "_n") -%}
{%- set std = table.name ~ "." ~ ident(row.name ~ "_std") -%}
{%- set standard_error = (
    table.name ~ "." ~ ident(row.standard_error) if row.standard_error
    else std ~ " / sqrt(" ~ n_users ~ ")" if of_users and is_mean else ""
) -%}
{%- set end = "_low" if column == "ci_low" else "_high" -%}
{%- if column == "value" -%} {{ value }}
{%- elif column == "n_users" -%} {{ n_users if of_users else "CAST(NULL AS BIGINT)" }}
{%- elif column == "std" -%} {{ std if of_users else "CAST(NULL AS DOUBLE)" }}
{%- elif column in ("n_runs", "std_runs") -%} {{ table.over_runs }}.{{ ident(row.name ~ "_" ~ column) }}
{%- elif z is not none and table.percentiles and is_mean -%}
CASE WHEN {{ n_users }} > 1 THEN {{ table.percentiles }}.{{ ident(row.name ~ end) }} END
{%- elif z is not none and standard_error -%}
{{ value }} {{ "-" if column == "ci_low" else "+" }} {{ z }} * {{ standard_error }}
{%- else -%} CAST(NULL AS DOUBLE)
{%- endif -%}
{%- endmacro -%}
