"""Hive: its metastore, asked by Thrift, or HiveServer2, asked by statements."""
