"""What a result was made of, so that it can be computed again."""
