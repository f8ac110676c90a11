"""`python -m sqlmetrics` is the command line."""

from sqlmetrics.cli import main

main(prog_name="sqlmetrics")
