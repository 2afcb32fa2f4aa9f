"""The ways in and out: webhooks with their callbacks, and the console, each behind one port."""
