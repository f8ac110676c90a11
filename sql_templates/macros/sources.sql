{#- FROM clauses that read files, one macro per format. `paths`: a path or several paths. -#}

{#- The value of a canonical column, from the column of the source. -#}
{%- macro source_value(column) -%}
{%- if column.constant -%} {{ literal(column.constant) }}
{%- elif column.cast == "VARCHAR" -%} CAST({{ ident(column.source) }} AS VARCHAR)
{%- else -%} {{ value_of_column(column) }}
{%- endif -%}
{%- endmacro -%}

{%- macro value_of_column(column) -%}
{%- if column.is_list and column.cast -%}
CAST(unnest({{ ident(column.source) }}) AS {{ column.cast }})
{%- elif column.negative -%} -CAST({{ ident(column.source) }} AS DOUBLE)
{%- elif column.is_list -%} unnest({{ ident(column.source) }})
{%- elif column.cast -%}
CASE WHEN {{ ident(column.source) }} THEN 1 WHEN NOT {{ ident(column.source) }} THEN 0 END
{%- else -%} {{ ident(column.source) }}
{%- endif -%}
{%- endmacro -%}

{%- macro length_of_list(column) -%}
CASE WHEN {{ ident(column) }} IS NULL THEN 0 ELSE array_length({{ ident(column) }}) END
{%- endmacro -%}

{#- Engines take year and month in the zone of the session. -#}
{%- macro time_in_utc(column) -%}
{%- set value = ident(column.source) -%}
{#- epoch_us does not take nanoseconds -#}
{%- if column.type == "TIMESTAMPTZ_NS" %}{% set value = "CAST(" ~ value ~ " AS TIMESTAMPTZ)" -%}
{%- endif -%}
make_timestamp(epoch_us({{ value }}))
{%- endmacro -%}

{#- A list of numbers from one column or several; NULL for an item without numbers. -#}
{%- macro source_vector(column) -%}
{%- if column.parts -%}
{%- set parts -%}
{%- for part in column.parts -%} {{ ident(part) }} {{- ", " if not loop.last }} {%- endfor -%}
{%- endset -%}
CASE WHEN coalesce({{ parts }}) IS NOT NULL THEN CAST([ {{- parts -}} ] AS DOUBLE[]) END
{%- else -%} CAST({{ ident(column.source) }} AS DOUBLE[])
{%- endif -%}
{%- endmacro -%}

{#- Options of a reader for folders such as `country=FR/`. By default, the engine reads them as
    columns and overwrites columns of the files. `folders`: the folder columns that the files lack,
    read by the engine (`by_engine`) or by these macros (`added`); none if there are no such
    folders. -#}
{%- macro folder_options(folders) -%}
{%- if folders is not none -%}
, hive_partitioning = {{ "TRUE" if folders.by_engine else "FALSE" }}
{%- if folders.added or folders.with_file -%} , filename = 'sqlmetrics_file' {%- endif -%}
{%- endif -%}
{%- endmacro -%}

{#- The value of a column in the folder names of a file. -#}
{%- macro folder_value(column) -%}
nullif(
    url_decode(regexp_extract(sqlmetrics_file, {{ literal(column.pattern) }}, 1)),
    '__HIVE_DEFAULT_PARTITION__'
)
{%- endmacro -%}

{#- Adds the folder columns and the row number to the rows of files. Uses a star, as the columns are
    unknown here. -#}
{%- macro rows_of_files(read, folders, row_number="") -%}
{%- if row_number or (folders is not none and folders.added) -%}
(
    SELECT
        * {%- if folders is not none and folders.added %} EXCLUDE (sqlmetrics_file),
        {%- for column in folders.added %}
        CAST({{ folder_value(column) }} AS {{ column.type }}) AS {{ ident(column.name) }}
        {{- "," if not loop.last }}
        {%- endfor %}
        {%- endif %}
        {%- if row_number %},
        {{ row_number }} AS sqlmetrics_row
        {%- endif %}
    FROM {{ read }}
)
{%- else -%}
{{ read }}
{%- endif -%}
{%- endmacro -%}

{%- macro source_parquet(paths, folders=none, in_order=false) -%}
{{ rows_of_files(
    "read_parquet(" ~ path_literal(paths) ~ folder_options(folders) ~ ")",
    folders,
    row_in_parquet() if in_order else "",
) }}
{%- endmacro -%}

{%- macro row_in_parquet() -%}
CAST(file_index AS BIGINT) * 1099511627776 + file_row_number
{%- endmacro -%}

{#- Without these options, DuckDB detects the layout and skips rows that do not match it. -#}
{%- macro layout_options(layout) -%}
{%- if layout -%}
, delim = {{ literal(layout.separator) }}, skip = {{ layout.n_above }}, comment = ''
{%- endif -%}
{%- endmacro -%}

{#- Types are detected from all rows, not from a sample. Numbering rows in their order needs a
    single thread. `types`: the types of columns that the engine does not detect. `by_name`: the
    files have columns in different orders; by default the engine assigns types by position.
    `quotes`: the characters that quote and escape values; by default the engine takes those of the
    first file. `layout`: the separator, and the number of lines before the header. -#}
{%- macro source_csv(paths, folders=none, in_order=false, types={}, by_name=false, quotes="", layout=none) -%}
{%- set own_types -%}
{%- for column, type in types.items() -%}
{{ literal(column) }}: {{ literal(type) }} {{- ", " if not loop.last }}
{%- endfor -%}
{%- endset -%}
{%- set how -%}
header = TRUE, sample_size = -1 {{- layout_options(layout) }} {%- if types %}, types = { {{- own_types -}} } {%- endif -%}
{{ folder_options(folders) }} {%- if by_name %}, union_by_name = TRUE {%- endif -%}
{%- if quotes %}, quote = {{ literal(quotes[0]) }}, escape = {{ literal(quotes[1]) }} {%- endif -%}
{%- if in_order %}, parallel = FALSE {%- endif -%}
{%- endset -%}
{{ rows_of_files(
    "read_csv(" ~ path_literal(paths) ~ ", " ~ how ~ ")",
    folders,
    "row_number() OVER ()" if in_order else "",
) }}
{%- endmacro -%}

{#- `types`: the types of all columns, if the engine would detect other types. -#}
{%- macro source_json(paths, folders=none, types={}) -%}
{%- set columns -%}
{%- for column, type in types.items() -%}
{{ literal(column) }}: {{ literal(type) }} {{- ", " if not loop.last }}
{%- endfor -%}
{%- endset -%}
{%- set how -%}
format = 'auto' {%- if types %}, columns = { {{- columns -}} } {%- endif -%} {{ folder_options(folders) }}
{%- endset -%}
{{ rows_of_files("read_json(" ~ path_literal(paths) ~ ", " ~ how ~ ")", folders) }}
{%- endmacro -%}

{#- One row per line of a text file, with its words; `in_order`: also with its place in the file. -#}
{%- macro words_of_lines(paths, in_order=false) -%}
(
        SELECT string_split_regex(trim(line), '\s+') AS words
        {%- if in_order %}, row_number() OVER () AS sqlmetrics_row {%- endif %}
        FROM read_csv(
            {{ path_literal(paths) }},
            columns = {'line': 'VARCHAR'},
            header = FALSE,
            auto_detect = FALSE,
            delim = '\0',
            quote = '',
            escape = '',
            hive_partitioning = FALSE
            {%- if in_order %},
            parallel = FALSE
            {%- endif %}
        )
        WHERE trim(line) <> ''
    ) AS lines
{%- endmacro -%}

{#- The first word of a line of a TREC file; an error unless the line has `count` words, of which
    the one at `number` is a number. `tag`: the last word of every line. -#}
{%- macro first_word(count, format, number, name, tag="") -%}
CASE
            WHEN len(words) <> {{ count }}
                THEN error('a line of {{ format }} must have {{ count }} columns, not '
                    || len(words) || ': ' || array_to_string(words, ' '))
            WHEN try_cast(words[{{ number }}] AS DOUBLE) IS NULL
                THEN error('the {{ name }} in a line of {{ format }} must be a number: '
                    || array_to_string(words, ' '))
            {%- if tag %}
            WHEN words[{{ count }}] <> {{ literal(tag) }}
                THEN error({{ literal("the first line has the run tag " ~ tag ~ ", but another line has the tag ") }}
                    || words[{{ count }}] || '. Write each run to its own file, and read the files '
                    || 'as models: ' || array_to_string(words, ' '))
            {%- endif %}
            ELSE words[1]
        END
{%- endmacro -%}

{#- Reads a TREC run: query Q0 document rank score tag. The rank is ignored, as in trec_eval. -#}
{%- macro source_trec_run(paths, folders=none, tag="", in_order=false) -%}
(
    SELECT
        {{ first_word(6, 'a TREC run', 5, 'score', tag) }} AS user_id,
        words[3] AS item_id,
        CAST(words[5] AS DOUBLE) AS score
        {%- if in_order %},
        sqlmetrics_row
        {%- endif %}
    FROM {{ words_of_lines(paths, in_order) }}
)
{%- endmacro -%}

{#- Reads TREC qrels: query iteration document relevance. -#}
{%- macro source_trec_qrels(paths, folders=none) -%}
(
    SELECT
        {{ first_word(4, 'TREC qrels', 4, 'relevance') }} AS user_id,
        words[3] AS item_id,
        CAST(words[4] AS DOUBLE) AS relevance
    FROM {{ words_of_lines(paths) }}
)
{%- endmacro -%}
