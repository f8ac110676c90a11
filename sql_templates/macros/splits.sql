{#- TRUE for the events of a side: history, interactions or gap. Events of one moment are on one
    side. `rule`: the draw, moment, border or place of an event decides; `may_keep_all`: users may
    have no held-out event, and then no border. -#}
{%- macro on_side(side) -%}
{%- set is_held_out = side == "interactions" -%}
{%- set border = at if rule == "moment" else "sqlmetrics_border" -%}
{%- set start_of_gap = until if rule == "moment" else "sqlmetrics_border - " ~ gap -%}
{%- if rule == "draw" -%} sqlmetrics_draw {{ "<" if is_held_out else ">=" }} {{ literal(below) }}
{%- elif rule == "place" -%} {{ is_among_the_last(is_held_out) }}
{%- elif is_held_out -%} timestamp >= {{ border }}
{%- elif side == "gap" -%} timestamp >= {{ start_of_gap }} AND timestamp < {{ border }}
{%- else -%}
{{ "sqlmetrics_border IS NULL OR " if may_keep_all -}}
timestamp < {{ border if gap is none else start_of_gap }}
{%- endif -%}
{%- endmacro -%}

{#- Is an event among the last of its user? `last`: their number; if it is 0, `numerator` and
    `denominator` are their share, and `rounding` what happens to fractions of events. Whole numbers
    are compared, because products of doubles miss some borders. -#}
{%- macro is_among_the_last(yes) -%}
{%- set up_to, below = ("<=", "<") if yes else (">", ">=") -%}
{%- if last -%} sqlmetrics_place {{ up_to }} {{ last }}
{%- elif rounding == "ceil" -%}
(sqlmetrics_place - 1) * {{ denominator }} {{ below }} sqlmetrics_events * {{ numerator }}
{%- elif rounding == "floor" -%}
sqlmetrics_place * {{ denominator }} {{ up_to }} sqlmetrics_events * {{ numerator }}
{%- elif rounding == "round" -%}
(2 * sqlmetrics_place - 1) * {{ denominator }} {{ up_to }} 2 * sqlmetrics_events * {{ numerator }}
{%- else -%}
{#- the events of the history are rounded, half to even -#}
{{ 2 * (denominator - numerator) }} * sqlmetrics_events
    - (2 * (sqlmetrics_events - sqlmetrics_place) + 1) * {{ denominator }}
    {{ below }} 1 - (sqlmetrics_events - sqlmetrics_place) % 2
{%- endif -%}
{%- endmacro -%}
