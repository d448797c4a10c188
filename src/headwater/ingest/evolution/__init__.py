"""How a table's columns follow its objects: found, merged, remembered; and what did not fit, rescued."""
