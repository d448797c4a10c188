# Attributes of the queues and the notification, and the lines for headwater.yaml.
locals {
  queue_attributes = {
    message_retention_seconds  = 14 * 86400
    max_message_size           = 262144
    visibility_timeout_seconds = var.visibility_timeout
    delay_seconds              = 0
  }
  events = ["s3:LifecycleExpiration:*", "s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:ObjectRestore:Completed"]
  # S3 compares the encoded form of a key.
  filter_prefix = replace(urlencode(var.prefix), "%2F", "/")
  event_pattern = {
    source        = ["aws.s3"]
    "detail-type" = ["Object Created", "Object Deleted", "Object Restore Completed"]
    detail = merge(
      { bucket = { name = [var.bucket] } },
      { for name, value in { object = { key = [{ prefix = var.prefix }] } } : name => value if var.prefix != "" },
    )
  }
  # Keys with their default value are left out.
  source = {
    source = merge(
      { type = "s3", bucket = var.bucket, region = local.region, queue = { url = local.queue_url } },
      { for name, value in { prefix = var.prefix } : name => value if value != "" },
      { for name, value in { notifications = var.notifications } : name => value if value != "sqs" },
      { for name, value in { clean_source = var.clean_source } : name => value if value != "off" },
      { for name, value in { clean_source_move_to = var.clean_source_move_to } : name => value if value != null },
      {
        for name, value in {
          resources = {
            for key, text in { name = var.name, kms_key = var.kms_key, bucket_owner = var.bucket_owner } :
            key => text if text != null
          }
        } : name => value if length(value) > 0
      },
    )
  }
}
