"""Slack: what the model writes as Slack shows it, and back."""
