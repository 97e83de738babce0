"""Imperative validators, written apart from the rule catalogue and used to test it."""
