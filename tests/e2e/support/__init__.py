"""What the end-to-end tests stand on: one subject a file, no test in here."""
