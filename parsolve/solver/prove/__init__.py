"""Machine-checked statements about a profile's rules, for all sizes.

Each statement is an `Obligation`: proved, refuted with a counterexample, or undecided.
"""
