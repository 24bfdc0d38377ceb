"""The text form of the IR: grammar, parser, printer."""
