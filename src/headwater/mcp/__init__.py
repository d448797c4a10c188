"""A server of the Model Context Protocol: assistants ask about a lake, and change it after a preview."""
