"""The rows behind the ports Store, Queries and Hooks: one module per topic."""
