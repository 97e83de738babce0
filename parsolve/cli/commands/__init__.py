"""One module a command, imported only when the command is run or its help is asked for."""
