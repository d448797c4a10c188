# The same names as those that `headwater up` derives: src/headwater/sources/planning/names.py.
locals {
  whole    = "headwater-${var.bucket}"
  is_plain = var.prefix == "" && length(local.whole) <= 75 && can(regex("^[A-Za-z0-9_-]+$", local.whole))
  digest   = substr(sha256("${var.bucket}\u0000${var.prefix}"), 0, 8)
  readable = trim(replace("${local.whole}-${var.prefix}", "/[^A-Za-z0-9_-]+/", "-"), "-")
  derived  = local.is_plain ? local.whole : "${replace(substr(local.readable, 0, 66), "/-+$/", "")}-${local.digest}"

  name             = coalesce(var.name, local.derived)
  dead_letter_name = "${local.name}-dead"
  # EventBridge allows 64 characters.
  rule_name = length(local.name) <= 64 ? local.name : "${replace(substr(local.name, 0, 55), "/-+$/", "")}-${substr(sha256(local.name), 0, 8)}"
  # IAM allows 64 characters, of which the suffix "-ingest" needs seven.
  role_name = length(local.name) <= 57 ? local.name : "${replace(substr(local.name, 0, 48), "/-+$/", "")}-${substr(sha256(local.name), 0, 8)}"

  bucket_arn      = "arn:${local.partition}:s3:::${var.bucket}"
  queue_arn       = "arn:${local.partition}:sqs:${local.region}:${local.account}:${local.name}"
  dead_letter_arn = "${local.queue_arn}-dead"
  topic_arn       = "arn:${local.partition}:sns:${local.region}:${local.account}:${local.name}"
  rule_arn        = "arn:${local.partition}:events:${local.region}:${local.account}:rule/${local.rule_name}"
  bucket_owner    = coalesce(var.bucket_owner, local.account)
}
