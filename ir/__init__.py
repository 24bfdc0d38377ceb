"""Ground floor: frozen values, their text form and their invariants.

What one part of the compiler hands to the next:

- ``graph``: a network of operators, of the kinds in ``ops`` (declared in ``operators``), with
  ``types`` of tensors and constants in ``resources``;
- ``arch``: the accelerator; ``mesh``: who stands where on its network;
- ``workload``, ``mapping``: an operator as a loop nest, and how it lies on the memories;
- ``graph_schedule``, ``groups``: order of operators, plan of the scratchpad, what runs together;
- ``direct``: what an operator, or a group of them, reads around the scratchpad; ``in_place``: what
  its result may be written over;
- ``tiles``: operators cut into tiles, and the schedule of those;
- ``isa``: instructions and programs;
- ``module``: all of these at once, a field for each stage; ``report``: every figure,
  ``mesh_report`` those of a run over the mesh.

What they share: ``errors``, ``suggest`` for what helps after wrong names, ``proof`` of bounds,
``plugins`` of other packages, the ``cache_folder``, functions that are ``compiled`` to machine
code, ``notebook`` for what values show there,
``codec`` and ``text`` for their written forms.
"""
