"""The user's tables under canonical names: sources, formats, column mapping and filters."""
