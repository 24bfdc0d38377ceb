"""The report for people: tables and pages."""
