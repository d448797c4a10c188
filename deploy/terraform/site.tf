# What only the provider knows. names.tf, policies.tf and source.tf are pure: they use nothing but variables and these.
data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}
data "aws_region" "current" {}

locals {
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  region    = data.aws_region.current.id
  queue_url = aws_sqs_queue.queue.url
}
