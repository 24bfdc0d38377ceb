"""The tiles of all operators as one schedule of the network.

``join`` puts the operators in turn, with the whole tensors that move between them; ``windows``
tells which part of a resident tensor each operation touches; ``store_results`` lets results leave
the chip that nobody would store, to be looked at.
"""
