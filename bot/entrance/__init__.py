"""Who comes in over HTTP: who it is, what a route asks of them, and what their browser may do."""
