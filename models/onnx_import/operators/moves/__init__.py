"""Import of what moves, picks or places elements.

- ``layout``: reshapes, transpositions, joins;
- ``moving``: slices, gathers, borders, repeats; ``scattering``: writes at constant places;
- ``resizing``, ``sampling``: elements between elements;
- ``ordering``: the greatest elements.
"""
