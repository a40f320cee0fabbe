"""The comparison of engines: cases, documents, the measured process, the judgement of masks, tables and plots."""
