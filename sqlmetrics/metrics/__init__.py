"""What is asked for: metric specs, their templates, settings and conventions. No SQL, no engine."""
