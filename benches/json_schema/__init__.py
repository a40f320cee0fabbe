"""The schema benchmark: cases, the measured process, its results, and the report."""
