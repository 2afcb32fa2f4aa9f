"""What the agent can do to files; every tool declares the power it needs."""
