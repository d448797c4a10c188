"""Detects objects of another dialect and suggests the option that reads them."""
