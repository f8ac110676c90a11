"""SQL as text and as parsed trees: templates, quoting, fusion and dialects."""
