"""What follows from the rules: verdicts, repairs, listings, optima and conflicts."""
