"""Sheets in and out: XLSX and CSV, and the tool that writes them."""
