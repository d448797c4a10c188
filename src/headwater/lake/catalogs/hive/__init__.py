"""Hive: its metastore over Thrift, or HiveServer2 over SQL."""
