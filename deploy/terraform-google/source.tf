# Settings of the subscriptions and the notification, and the lines for headwater.yaml.
locals {
  retention_seconds = 7 * 86400
  events            = ["OBJECT_ARCHIVE", "OBJECT_DELETE", "OBJECT_FINALIZE"]
  # Keys with their default value are left out.
  source = {
    source = merge(
      { type = "gcs", bucket = var.bucket, project = var.project, subscription = local.name },
      { for name, value in { prefix = var.prefix } : name => value if value != "" },
      { for name, value in { queue = { ack_deadline = var.ack_deadline } } : name => value if var.ack_deadline != 30 },
    )
  }
}
