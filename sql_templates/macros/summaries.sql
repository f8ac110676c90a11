{#- The differences between the values of slices in one number, undefined for fewer than two slices
    with a value. A ratio is undefined if a value is negative or all are 0. Deviations of a ratio
    are those of logarithms, in the column `…_log`. -#}
{%- macro gap_of(gap, name, deviations) -%}
{%- set value, log = ident(name), ident(name ~ "_log") -%}
{%- if gap == "ratio" and deviations -%}
CASE WHEN count({{ log }}) > 1 THEN max({{ log }}) - min({{ log }}) END
{%- elif gap == "ratio" -%}
CASE WHEN count({{ value }}) > 1 AND min({{ value }}) >= 0 THEN min({{ value }}) / nullif(max({{ value }}), 0) END
{%- elif gap == "difference" -%}
CASE WHEN count({{ value }}) > 1 THEN max({{ value }}) - min({{ value }}) END
{%- elif gap == "mad" -%}
2 * sum({{ ident(name ~ "_weight") }} * {{ value }}) / nullif(count({{ value }}) * (count({{ value }}) - 1), 0)
{%- else -%}
CASE WHEN count({{ value }}) > 1 THEN stddev_pop({{ value }}) END
{%- endif -%}
{%- endmacro -%}

{#- One cell of a summary, in the column value, n_users, std, standard_error (of clusters), ci_low,
    ci_high, n_clusters, n_audited, label_weight, labels_alone, people_alone, n_runs, std_runs,
    gap (0, or the place of the gap among those asked for) or p_value.
    `table`: the table of totals; `row`: the names of its columns; `z`: the half width of intervals in standard errors,
    or none for no intervals. -#}
{%- macro summary_cell(table, row, column, z) -%}
{%- set of_users = row.grain == "user" -%}
{%- set is_mean = row.aggregate in ("mean", "weighted_mean", "ratio") -%}
{%- set value = table.name ~ "." ~ ident(row.name ~ "_value" if of_users else row.name) -%}
{%- set value = table.audit ~ "." ~ ident(row.name ~ "_estimate") if table.audit else value -%}
{%- set n_users = table.name ~ "." ~ ident(row.name ~ "_n") -%}
{%- set std = (table.audit or table.name) ~ "." ~ ident(row.name ~ "_std") -%}
{%- set standard_error = (
    (table.audit or table.name) ~ "." ~ ident(row.standard_error) if row.standard_error
    else std ~ " / sqrt(" ~ n_users ~ ")" if of_users and is_mean else ""
) -%}
{%- set n_clusters = "coalesce(" ~ table.clusters ~ "." ~ ident(row.name ~ "_clusters") ~ ", 0)" if table.clusters else n_users -%}
{%- set end = "_low" if column == "ci_low" else "_high" -%}
{%- set of_gap = row.grain == "gap" -%}
{%- if column == "value" -%} {{ value }}
{%- elif column == "gap" -%} {{ row.gap if of_gap else 0 }}
{%- elif column == "p_value" -%}
{{ table.name ~ "." ~ ident(row.name ~ "_p_value") if of_gap and row.tested else "CAST(NULL AS DOUBLE)" }}
{%- elif of_gap and column in ("n_runs", "n_clusters") -%} CAST(NULL AS BIGINT)
{%- elif of_gap and column in ("ci_low", "ci_high") and z is not none and row.varied -%}
{{ table.name }}.{{ ident(row.name ~ end) }}
{%- elif of_gap and column != "n_users" -%} CAST(NULL AS DOUBLE)
{%- elif column == "n_users" -%} {{ n_users if of_users else "CAST(NULL AS BIGINT)" }}
{%- elif column == "n_clusters" -%} {{ n_clusters if of_users else "CAST(NULL AS BIGINT)" }}
{%- elif column == "n_audited" -%} coalesce({{ table.audit }}.{{ ident(row.name ~ "_audited") }}, 0)
{%- elif column in ("label_weight", "labels_alone", "people_alone") -%}
{{ table.audit }}.{{ ident(row.name ~ "_" ~ column.removeprefix("label_")) }}
{%- elif column == "standard_error" -%}
{{ table.clusters ~ "." ~ ident(row.name ~ "_cluster_error") if of_users and is_mean else "CAST(NULL AS DOUBLE)" }}
{%- elif column == "std" -%} {{ std if of_users else "CAST(NULL AS DOUBLE)" }}
{%- elif column in ("n_runs", "std_runs") -%} {{ table.over_runs }}.{{ ident(row.name ~ "_" ~ column) }}
{%- elif z is not none and table.percentiles and is_mean -%}
CASE WHEN {{ n_clusters }} > 1 THEN {{ table.percentiles }}.{{ ident(row.name ~ end) }} END
{%- elif z is not none and standard_error -%}
{{ value }} {{ "-" if column == "ci_low" else "+" }} {{ z }} * {{ standard_error }}
{%- else -%} CAST(NULL AS DOUBLE)
{%- endif -%}
{%- endmacro -%}

{#- The standard error of the mean of a value over `n` users, of whom some have the value 0 and no
    row; undefined for one user. -#}
{%- macro standard_error_with_zeros(value, n) -%}
sqrt(
            greatest(sum({{ value }} * {{ value }}) - sum({{ value }}) * sum({{ value }}) / {{ n }}, 0)
            / nullif({{ n }} * ({{ n }} - 1), 0)
        )
{%- endmacro -%}
