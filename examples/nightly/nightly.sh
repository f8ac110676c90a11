#!/bin/sh
# Evaluates the lists of a night, keeps the numbers, and fails if they are worse than usual.
# usage: nightly.sh DATA HISTORY.duckdb [DATE]
# cron:  30 5 * * *  /srv/recs/nightly.sh /srv/recs/export /srv/recs/metrics.duckdb
set -eu
data=$1
history=$2
night=${3:-$(date -u +%F)}

sqlmetrics evaluate ndcg@10 recall@10 coverage@10 \
    -r "live=$data/recommendations_als.parquet" -i "$data/interactions.parquet" \
    --history "$data/history.parquet" \
    -o "$history:results" --append --per-user --tag "date=$night" \
    --fail-if "ndcg@10 < 0.1" --fail-if "ndcg@10 < mean(7) - 2 std(7)"

sqlmetrics trend "$history:results" ndcg@10 --last 7
