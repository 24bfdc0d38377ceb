"""The compiled engine that issues tiles in a given order, and what it shares with other schedulers.

- ``arrays``: what it reads and writes; ``start``: these before the first event;
- ``ranges``: disjoint ranges in rows; ``gaps``: when engines are idle;
- ``spaces``: who holds which bytes until when, and where there is space;
- ``contents``: which earlier events an event waits for; ``timeline``: when it runs, as predicted;
- ``memory``: which tile is where on chip, and who gives way;
- ``issue``: operations in turns, dealt out to NPUs in the order of the loop nest;
- ``ready``: operations of stripes in the order in which they can start;
- ``insertion``: events of operators one after the other, where engines and places are idle first;
- ``first_fit``: addresses for blocks that are known beforehand, one after the other;
- ``turns``: turn by turn: tiles are fetched, operations are issued, transfers run ahead.
"""
