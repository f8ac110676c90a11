{#- Expressions of the demo tables. All numbers come from integer arithmetic within 63 bits and from
    IEEE + - * /, so that every machine and engine version computes the same values. -#}

{#- The streams of random numbers, one per purpose. -#}
{%- set _streams = [
  "activity", "has_truth", "history", "phase", "truth_shift", "step", "shift", "no_list", "length",
  "place", "side", "group", "slot", "popular", "relevance", "time", "decisions", "kind", "reward",
  "propensity", "category", "second_category", "more_categories", "price", "name", "centre",
  "feature", "aspect", "has_aspect", "country", "age_group", "device", "seller",
] -%}

{#- A 31-bit literal for a stream; `number` distinguishes the literals of one stream. -#}
{%- macro demo_constant(stream, number) -%}
{%- set key = seed * 1000003 + _streams.index(stream) * 16 + number + 1 -%}
{%- set key = (key * 6364136223846793005 + 1442695040888963407) % 2305843009213693951 -%}
{%- set key = (key * key + 3037000493) % 2305843009213693951 -%}
{%- set key = (key * key + 2862933555) % 2305843009213693951 -%}
{{ 1073741824 + key % 1073741789 }}
{%- endmacro -%}

{#- A number in 0 .. 2147483586 for one or two integers. Multiplications alone would be almost
    linear, and neighbouring users would draw similar numbers; xor with a literal breaks the
    linearity and, unlike a square, reads its input only once. -#}
{%- macro demo_draw(stream, first, second=none) -%}
(xor(xor(xor((({{ first }}) * {{ demo_constant(stream, 0) }}
{%- if second is number %} + {{ second * demo_constant(stream, 1) | int }}
{%- elif second is not none %} + ({{ second }}) * {{ demo_constant(stream, 1) }}
{%- endif %} + {{ demo_constant(stream, 2) }}) % 2147483647
{%- for modulus in (2147483629, 2147483563, 2147483587) -%}
{%- set number = 2 * loop.index + 1 -%}
, {{ demo_constant(stream, number) }}) * {{ demo_constant(stream, number + 1) }} % {{ modulus }}
{%- endfor %})
{%- endmacro -%}

{#- The same number as a double in [0, 1). -#}
{%- macro demo_uniform(stream, first, second=none) -%}
{{ demo_draw(stream, first, second) }} / 2147483587
{%- endmacro -%}

{#- A user owns `size` items, of which `count` have a role; these are spread evenly among the
    others, like the pixels of a sloped line. Returns the position of item number `index` (from 0)
    with the role, without enumerating the user's items. -#}
{%- macro demo_own_position(index, count, size, phase) -%}
(({{ index }} + 1) * {{ size }} - {{ phase }} + {{ count }} - 1) // greatest({{ count }}, 1) - 1
{%- endmacro -%}

{#- The inverse: TRUE if the own item at a position has the role. -#}
{%- macro demo_has_role(position, count, size, phase) -%}
({{ position }} * {{ count }} + {{ phase }}) % {{ size }} + {{ count }} >= {{ size }}
{%- endmacro -%}

{#- The place in [0, 1) of a position of a sequence. `source`: 0 for own items, otherwise the number
    of the model. -#}
{%- macro demo_place(position, size, source) -%}
({{ position }} + {{ demo_uniform("place", "user_id", position ~ " * 4 + " ~ source) }})
/ {{ size }}
{%- endmacro -%}

{#- The step from one slot of a list to the next in the sequence of its fillers: a prime above every
    list length, and so coprime to it, which prevents repeated fillers. -#}
{%- macro demo_filler_step(source) -%}
[1000003, 1000081, 1000117, 1000151, 1000171, 1000183, 1000187, 1000193]
    [1 + {{ demo_draw("step", "user_id", source) }} % 8]
{%- endmacro -%}

{#- The popularity level (0 = most popular) of a position. The cube makes low levels more frequent,
    with a density like rank^-0.67. The first term makes levels increase with every position, so
    that no level repeats. Both items of a level are about equally popular. -#}
{%- macro demo_level(position, size, place) -%}
{{ position }}
+ CAST(floor(({{ levels }} - {{ size }}) * {{ place }} * {{ place }} * {{ place }}) AS BIGINT)
{%- endmacro -%}

{#- The item (of the two of a level) that a user may own; fillers of lists are always the other. -#}
{%- macro demo_own_side(level) -%}
{{ demo_draw("side", "user_id", level) }} % 2
{%- endmacro -%}

{#- The id of the item with a popularity rank (from 0). The mapping is one to one, as 999983 is
    prime, and scrambled, so that a low id does not mean a popular item. -#}
{%- macro demo_item_id(rank) -%}
({{ rank }} + 1) * 618033 % 999983
{%- endmacro -%}

{#- The relevance of a held-out item: 1, 2 or 3. -#}
{%- macro demo_relevance(truth_index) -%}
CASE
    WHEN {{ demo_draw("relevance", "user_id", truth_index) }} % 100 < 65 THEN 1
    WHEN {{ demo_draw("relevance", "user_id", truth_index) }} % 100 < 90 THEN 2
    ELSE 3
  END
{%- endmacro -%}

{#- A text from a list, chosen by a number. -#}
{%- macro demo_pick(texts, number) -%}
{{ literal(texts) }}[1 + {{ number }} % {{ texts | length }}]
{%- endmacro -%}
