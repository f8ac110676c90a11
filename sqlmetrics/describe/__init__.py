"""How numbers are computed, in words: metrics, conventions, the way from one to another."""
