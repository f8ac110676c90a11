"""Input tables with canonical names: sources, formats, column mapping and filters."""
