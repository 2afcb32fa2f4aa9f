"""Where rows and bytes are kept: SQLite or PostgreSQL, and the blob folder."""
