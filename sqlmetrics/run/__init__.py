"""The one path of every request: resolve, plan, validate, execute, present."""
