"""Engines run plans; nothing else in the package knows which one it talks to."""
