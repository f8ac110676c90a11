"""SQL as text and as parsed trees: rendering, quoting, fusion and dialects."""
