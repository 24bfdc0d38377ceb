"""The mappers: how searches and certificates are put together to answer one question."""
