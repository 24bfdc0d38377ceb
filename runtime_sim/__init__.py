"""The functional and timing simulator; it knows nothing of the compiler.

- ``simulate``: one pass over a program, in the order that its times give;
- ``accesses``: what every instruction reads and writes, which all parts build on;
- ``functional``: what instructions do to memory;
- ``timing``: when they run;
- ``noc``: the mesh between the memories and the array, flit by flit;
- ``array``: what the loops of a MAC instruction do on the array;
- ``checks``: races and bytes that nobody has written;
- ``ledger``, ``result``, ``trace``: the accounts, what is found, and a file to look at it;
- ``reference``: what operators of graphs compute, in NumPy.
"""
