resource "aws_sqs_queue" "dead_letter" {
  name                       = local.dead_letter_name
  message_retention_seconds  = local.queue_attributes.message_retention_seconds
  max_message_size           = local.queue_attributes.max_message_size
  visibility_timeout_seconds = local.queue_attributes.visibility_timeout_seconds
  delay_seconds              = local.queue_attributes.delay_seconds
  kms_master_key_id          = var.kms_key
  sqs_managed_sse_enabled    = var.kms_key == null ? true : null
  policy                     = jsonencode(local.dead_letter_policy)
  tags                       = var.tags
}

resource "aws_sqs_queue" "queue" {
  name                       = local.name
  message_retention_seconds  = local.queue_attributes.message_retention_seconds
  max_message_size           = local.queue_attributes.max_message_size
  visibility_timeout_seconds = local.queue_attributes.visibility_timeout_seconds
  delay_seconds              = local.queue_attributes.delay_seconds
  kms_master_key_id          = var.kms_key
  sqs_managed_sse_enabled    = var.kms_key == null ? true : null
  policy                     = jsonencode(local.queue_policy)
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letter.arn
    maxReceiveCount     = var.max_receive_count
  })
  tags = var.tags
}
