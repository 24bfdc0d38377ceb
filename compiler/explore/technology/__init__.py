"""What memories and arithmetic cost in area and energy.

- ``published``: figures of papers;
- ``curves``: power laws fitted to them, with their residuals;
- ``area``: area and bytes of an architecture;
- ``energy``: energies of an architecture whose capacities changed.
"""
