"""From metric requests to a plan: which queries compute the numbers."""
