"""The compiled inner loop: an order of loops to its allocation and its cost, and the two engines.

Bounded memories are numbered from the innermost outwards, and so are the memories of one operand
(its *chain*, which ends with the memory that it comes from). The *boundary* of a chain memory is
the one between it and the next outer memory. A *start* is the loop from which on a tile extends
inwards: 0 for the whole workload, ``n`` for no temporal loop at all. Loops just outside of a tile
that leave it as it is belong to it; so only those starts matter whose next outer loop changes the
operand. They are the *candidates*.

All that is to be known of a candidate, its footprint, visits and energies, follows from which
loops are inside, however these are ordered: a *row* (:mod:`.rows`). Rows are kept from order to
order, so that an evaluation looks most of them up (:mod:`.value`) before it allocates
(:mod:`.exact`, :mod:`.shared`, :mod:`.greedy`) and adds up (:mod:`.value`).
"""
