"""Support code for the end-to-end tests, one file per subject."""
