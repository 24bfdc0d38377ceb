"""When the events of a tile schedule run: what each asks of the machine, and a clock."""
