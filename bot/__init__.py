"""The composition root: the only place where concrete things meet."""
