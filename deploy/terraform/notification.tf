resource "aws_s3_bucket_notification" "bucket" {
  count       = var.manage_notification ? 1 : 0
  bucket      = var.bucket
  eventbridge = var.notifications == "eventbridge"

  dynamic "queue" {
    for_each = var.notifications == "sqs" ? [aws_sqs_queue.queue.arn] : []
    content {
      id            = "headwater"
      queue_arn     = queue.value
      events        = local.events
      filter_prefix = local.filter_prefix == "" ? null : local.filter_prefix
    }
  }

  dynamic "topic" {
    for_each = aws_sns_topic.topic[*].arn
    content {
      id            = "headwater"
      topic_arn     = topic.value
      events        = local.events
      filter_prefix = local.filter_prefix == "" ? null : local.filter_prefix
    }
  }
}

resource "aws_sns_topic" "topic" {
  count             = var.notifications == "sns" ? 1 : 0
  name              = local.name
  kms_master_key_id = var.kms_key
  policy            = jsonencode(local.topic_policy)
  tags              = var.tags
}

resource "aws_sns_topic_subscription" "queue" {
  count     = var.notifications == "sns" ? 1 : 0
  topic_arn = aws_sns_topic.topic[0].arn
  protocol  = "sqs"
  endpoint  = aws_sqs_queue.queue.arn
  # Without it each message has one more envelope and is a third larger.
  raw_message_delivery = true
}

resource "aws_cloudwatch_event_rule" "rule" {
  count         = var.notifications == "eventbridge" ? 1 : 0
  name          = local.rule_name
  event_pattern = jsonencode(local.event_pattern)
  tags          = var.tags
}

resource "aws_cloudwatch_event_target" "queue" {
  count     = var.notifications == "eventbridge" ? 1 : 0
  rule      = aws_cloudwatch_event_rule.rule[0].name
  target_id = "headwater"
  arn       = aws_sqs_queue.queue.arn
}
