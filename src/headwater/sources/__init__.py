"""Where objects come from: one folder per vendor, behind the protocols of this package."""
