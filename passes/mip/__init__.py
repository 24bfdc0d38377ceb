"""The one door to the solver of integer programs."""
