"""The pages of the console: rendered here, made alive by htmx and one small script."""
