"""Files that people launch with, read as configurations: nothing in them is executed."""
