"""The user's data under our names: sources, formats, columns, conditions."""
