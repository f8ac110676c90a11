{#- What an engine runs in place of a sum, as `sqlmetrics/sql/exact_sums.py` writes it: terms are
    summed in units of 1e-15, which gives the same value on any number of threads and for any order
    of rows. -#}
{%- macro exact_sum(term) -%}
sum(CAST(round(({{ term }}) * 1e15) AS HUGEINT)) / 1e15
{%- endmacro -%}
