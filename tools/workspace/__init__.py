"""The folders that tasks work in, behind a guard that nothing gets out of."""
