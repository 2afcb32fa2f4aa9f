"""The ways in and out: chat platforms, webhooks and the terminal, each behind one port."""
