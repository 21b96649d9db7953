class CannotMeasure(Exception):
    """Something that is needed is not here, or a server failed a check; says what to do."""
