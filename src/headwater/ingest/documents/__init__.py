"""Documents to sections. Parsers take bytes and may do anything on hostile ones: run them in `sandbox`."""
