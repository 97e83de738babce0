"""A plain Python validator as formulas: its syntax tree walked once, states merged at joins.

Unknown are integers, truth values, texts that are compared, optional ones of these (`Union`
with None), and lists of integers. Whatever else the program makes or imports is known. What it
does that cannot be followed is a gap with file and line, under the path that leads there.

Not modelled: running out of memory, time or digits (text of integers of thousands of digits),
and the order of a set's entries beyond the order that this process gives them.
"""
