"""`headwater backup` and `headwater restore`: a lake as one consistent set of files.

The manifest is written last, so a backup is complete or not there. Files of tables never change once written,
so a repeated backup copies only new ones. Decision 0031 says why each table is copied when it is.
"""
