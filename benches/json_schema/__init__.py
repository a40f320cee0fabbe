"""What ``maskbench.py`` is made of: cases, the measured process, what it found, and the report."""
