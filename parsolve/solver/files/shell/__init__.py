"""What a shell script says, read from its syntax tree: nothing in it is executed."""
