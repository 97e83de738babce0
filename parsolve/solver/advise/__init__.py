"""Which primitive of parallelism to use: a ladder, climbed to the first rung that fits."""
