"""The report: one HTML file about a question, its answer and all that is valid beside it."""
