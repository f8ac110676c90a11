{#- How files are read: what stands after FROM for each format. `paths` is a path or several. -#}

{#- The value of a column of the queries, from the column of the source. -#}
{%- macro source_value(column) -%}
{%- if column.is_list and column.cast -%}
CAST(unnest({{ ident(column.source) }}) AS {{ column.cast }})
{%- elif column.is_list -%} unnest({{ ident(column.source) }})
{%- elif column.cast -%}
CASE WHEN {{ ident(column.source) }} THEN 1 WHEN NOT {{ ident(column.source) }} THEN 0 END
{%- else -%} {{ ident(column.source) }}
{%- endif -%}
{%- endmacro -%}

{%- macro length_of_list(column) -%}
CASE WHEN {{ ident(column) }} IS NULL THEN 0 ELSE array_length({{ ident(column) }}) END
{%- endmacro -%}

{#- The year and month of a point in time are those of the session's time zone, or of the column's. -#}
{%- macro has_time_zone(column) -%}
{{ "yes" if column.type == "TIMESTAMP WITH TIME ZONE" }}
{%- endmacro -%}

{%- macro time_in_utc(column) -%}
make_timestamp(epoch_us({{ ident(column.source) }}))
{%- endmacro -%}

{#- A list of numbers, from one column or several; of an item without any, NULL. -#}
{%- macro source_vector(column) -%}
{%- if column.parts -%}
{%- set parts -%}
{%- for part in column.parts -%} {{ ident(part) }} {{- ", " if not loop.last }} {%- endfor -%}
{%- endset -%}
CASE WHEN coalesce({{ parts }}) IS NOT NULL THEN CAST([ {{- parts -}} ] AS DOUBLE[]) END
{%- else -%} CAST({{ ident(column.source) }} AS DOUBLE[])
{%- endif -%}
{%- endmacro -%}

{#- Options of a reader about folders such as `country=FR/`. The engine would read them as columns,
    also in place of columns that the files have. `folders`: their columns that the files lack,
    which the engine reads (`by_engine`) or we do (`added`); none where no folder is called so. -#}
{%- macro folder_options(folders) -%}
{%- if folders is not none -%}
, hive_partitioning = {{ "TRUE" if folders.by_engine else "FALSE" }}
{%- if folders.added or folders.with_file -%} , filename = 'sqlmetrics_file' {%- endif -%}
{%- endif -%}
{%- endmacro -%}

{#- What the folders of a file say about a column. -#}
{%- macro folder_value(column) -%}
nullif(
    url_decode(regexp_extract(sqlmetrics_file, {{ literal(column.pattern) }}, 1)),
    '__HIVE_DEFAULT_PARTITION__'
)
{%- endmacro -%}

{#- Add to the rows of files the columns of their folders, and the number of each row. A star, since
    the columns are not known here. -#}
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

{#- Without these options, DuckDB detects the layout from the rows and skips rows that do not fit. -#}
{%- macro layout_options(layout) -%}
{%- if layout -%}
, delim = {{ literal(layout.separator) }}, skip = {{ layout.n_above }}, comment = ''
{%- endif -%}
{%- endmacro -%}

{#- The values of all rows decide on the types, not those of a sample. To number the rows in their
    order takes one thread. `text_columns` are read as they stand. `by_name`: the files have their
    columns in different orders, of which the engine takes the types by place otherwise. `quotes`: the
    characters that enclose and escape values, which it takes from the first of several files.
    `layout`: the separator, and the number of lines before the header. -#}
{%- macro source_csv(paths, folders=none, in_order=false, text_columns=(), by_name=false, quotes="", layout=none) -%}
{%- set types -%}
{%- for column in text_columns -%} {{ literal(column) }}: 'VARCHAR' {{- ", " if not loop.last }} {%- endfor -%}
{%- endset -%}
{%- set how -%}
header = TRUE, sample_size = -1 {{- layout_options(layout) }} {%- if text_columns %}, types = { {{- types -}} } {%- endif -%}
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

{#- `types`: those of all columns, where the engine would find others. -#}
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

{#- One row per line of a text file: the words in it. -#}
{%- macro words_of_lines(paths) -%}
(
        SELECT string_split_regex(trim(line), '\s+') AS words
        FROM read_csv(
            {{ path_literal(paths) }},
            columns = {'line': 'VARCHAR'},
            header = FALSE,
            auto_detect = FALSE,
            delim = '\0',
            quote = '',
            escape = '',
            hive_partitioning = FALSE
        )
        WHERE trim(line) <> ''
    ) AS lines
{%- endmacro -%}

{#- The first word of a line, which must have so many. -#}
{%- macro first_word(count, format) -%}
CASE WHEN len(words) = {{ count }} THEN words[1]
            ELSE error('a line of {{ format }} has {{ count }} columns, not '
                || len(words) || ': ' || array_to_string(words, ' '))
        END
{%- endmacro -%}

{#- A line of a run: query Q0 document rank score tag. The rank is ignored, as trec_eval does. -#}
{%- macro source_trec_run(paths, folders=none) -%}
(
    SELECT
        {{ first_word(6, 'a TREC run') }} AS user_id,
        words[3] AS item_id,
        CAST(words[5] AS DOUBLE) AS score
    FROM {{ words_of_lines(paths) }}
)
{%- endmacro -%}

{#- A line of qrels: query iteration document relevance. -#}
{%- macro source_trec_qrels(paths, folders=none) -%}
(
    SELECT
        {{ first_word(4, 'TREC qrels') }} AS user_id,
        words[3] AS item_id,
        CAST(words[4] AS DOUBLE) AS relevance
    FROM {{ words_of_lines(paths) }}
)
{%- endmacro -%}
