"""``report.html``: the report as one self-contained page; another one compares two reports.

- ``page``: renders the templates with the values of ``view`` and ``comparison_view``;
- ``headline``, ``plan_figures``, ``provenance``: figures, and how they came to be;
- ``operator_rows``, ``tile_rows``: the tables; ``split`` says where energy and bytes go;
- ``network_graph``: the network as a drawing, coloured by cost;
- ``mesh_rows``: the run over the mesh, with its heat map;
- ``names``: names of the network, made fit to be shown;
- ``charts``: the drawings.
"""

from .page import comparison_page, html_report

__all__ = ["comparison_page", "html_report"]
