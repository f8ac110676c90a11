{#- An exact sum, which engines run in place of a sum (see `sqlmetrics/sql/exact_sums.py`). Terms
    are summed in units of 1e-15, so that the value does not depend on the number of threads or the
    order of rows. -#}
{%- macro exact_sum(term) -%}
sum(CAST(round(({{ term }}) * 1e15) AS HUGEINT)) / 1e15
{%- endmacro -%}
