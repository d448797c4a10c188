"""Pure decisions about the events of a batch for a table. No Spark, no boto3."""
