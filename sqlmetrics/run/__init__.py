"""Run requests: resolve, plan, validate, run and present."""
