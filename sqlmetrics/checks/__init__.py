"""What would make numbers wrong, or misleading: looked for in the rows."""
