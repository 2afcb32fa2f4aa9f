"""What a table of invoices says: roles of columns, numbers, dates, totals and oddities, without a model."""
