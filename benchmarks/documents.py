"""What benchmarks write into documents, between marks that the documents hold."""


def between_marks(text: str, name: str, content: str) -> str:
    """Return a document with other content between the two marks of a name.

    Args:
        text: The document.
        name: What the marks say.
        content: Whole lines.

    Raises:
        ValueError: The document has no such marks.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, found, rest = text.partition(begin)
    _, also, after = rest.partition(end)
    if not found or not also:
        raise ValueError(f"no {begin.strip()} and {end.strip()} in the document")
    return f"{before}{begin}{content}{end}{after}"
