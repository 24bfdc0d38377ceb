"""CoSA: a loop nest as the solution of one integer program."""
