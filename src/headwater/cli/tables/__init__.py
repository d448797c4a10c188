"""Commands about one data table."""
