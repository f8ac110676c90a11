"""Texts for people: messages with arguments, lists of names, secrets that are hidden."""
