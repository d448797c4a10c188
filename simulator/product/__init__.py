"""What production does around its pure decisions, step by step, with every place where it may die."""
