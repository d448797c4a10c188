"""Runs production's effects around its pure decisions step by step, with every crash point."""
