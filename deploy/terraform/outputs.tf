output "source" {
  description = "The lines `source:` of headwater.yaml."
  value       = yamlencode(local.source)
}

output "queue_url" {
  description = "URL of the queue: source.queue.url."
  value       = aws_sqs_queue.queue.url
}

output "queue_arn" {
  description = "ARN of the queue."
  value       = aws_sqs_queue.queue.arn
}

output "dead_letter_queue_url" {
  description = "URL of the dead-letter queue."
  value       = aws_sqs_queue.dead_letter.url
}

output "notification_rule" {
  description = "The rule for a bucket whose notification configuration is managed elsewhere."
  value = {
    target        = var.notifications == "sqs" ? local.queue_arn : var.notifications == "sns" ? local.topic_arn : "eventbridge"
    events        = local.events
    filter_prefix = local.filter_prefix
  }
}

output "key_statement" {
  description = "The statement that the policy of kms_key needs, as JSON."
  value       = var.kms_key == null ? null : jsonencode(local.key_statement)
}

output "policy_arns" {
  description = "ARN of the policy of each role: ingest, serve."
  value       = { for role, policy in aws_iam_policy.policy : role => policy.arn }
}

output "role_arns" {
  description = "ARN of each role that may be assumed: ingest, serve."
  value       = { for role, item in aws_iam_role.role : role => item.arn }
}
