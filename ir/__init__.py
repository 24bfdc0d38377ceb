"""Ground floor: frozen values, their text form and their invariants."""
