"""Slack: what the model writes as Slack shows it, and what people write as the model reads it."""
