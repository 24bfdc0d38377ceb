"""Tiles of all operators in one schedule: engines that wait in one operator work for the next."""
