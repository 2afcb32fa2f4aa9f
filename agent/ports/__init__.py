"""The seams between the core and everything with I/O: what the core asks for, in its own terms."""
