"""Telegram: the Bot API at the edge, and pure views of what is shown and what was said."""
