"""Stands in for PyTorch, which RePlay 0.9 to 0.12 import and no metric uses."""


class device:
    """The type of an argument."""
