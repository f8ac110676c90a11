"""Stands in for seaborn, which RePlay 0.9 to 0.12 import and no metric uses."""
