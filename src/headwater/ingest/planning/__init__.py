"""Pure decisions: what the events of a batch mean for a table. No Spark, no boto3."""
