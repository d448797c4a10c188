"""`headwater forget`: erases subjects from the tables of a lake, and proves it. See decision 0055."""
