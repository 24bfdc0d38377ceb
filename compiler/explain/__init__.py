"""Why an operator costs what it costs, and what would help.

- ``explaining``: what ``accnn.explain`` does;
- ``explanation``: the value that it returns;
- ``names``: which operators a name means;
- ``alone``: an operator cut out of its network, compiled and run by itself;
- ``changes``: machines with one number changed;
- ``words``: the explanation as text.
"""
