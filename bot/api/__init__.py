"""What the product can be asked: the functions behind `/v1`, the pages and the command line."""
