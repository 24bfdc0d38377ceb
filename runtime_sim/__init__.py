"""The functional and timing simulator; it knows nothing of the compiler."""
