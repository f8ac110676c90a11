"""Run requests: resolve, plan, validate, execute and present."""
