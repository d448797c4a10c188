# The same policies as those of `headwater up` and `headwater plan --policies`: src/headwater/sources/s3/planning/.
locals {
  senders = {
    sqs         = { service = "s3.amazonaws.com", arn = local.bucket_arn, account = local.bucket_owner }
    sns         = { service = "sns.amazonaws.com", arn = local.topic_arn, account = "" }
    eventbridge = { service = "events.amazonaws.com", arn = local.rule_arn, account = "" }
  }
  sender = local.senders[var.notifications]

  queue_policy = {
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "HeadwaterSend"
        Effect    = "Allow"
        Principal = { Service = local.sender.service }
        Action    = "sqs:SendMessage"
        Resource  = local.queue_arn
        Condition = {
          for test, values in {
            ArnEquals = { "aws:SourceArn" = local.sender.arn }
            # The ARN of a bucket has no account: another one could create a deleted bucket again under its name.
            StringEquals = { "aws:SourceAccount" = local.sender.account }
          } : test => values if test == "ArnEquals" || local.sender.account != ""
        }
      },
      merge(local.tls, { Action = "sqs:*", Resource = local.queue_arn }),
    ]
  }
  dead_letter_policy = {
    Version   = "2012-10-17"
    Statement = [merge(local.tls, { Action = "sqs:*", Resource = local.dead_letter_arn })]
  }
  topic_policy = {
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "HeadwaterSend"
        Effect    = "Allow"
        Principal = { Service = "s3.amazonaws.com" }
        Action    = "sns:Publish"
        Resource  = local.topic_arn
        Condition = {
          ArnEquals    = { "aws:SourceArn" = local.bucket_arn }
          StringEquals = { "aws:SourceAccount" = local.bucket_owner }
        }
      },
      merge(local.tls, { Action = "sns:Publish", Resource = local.topic_arn }),
    ]
  }
  tls = {
    Sid       = "HeadwaterTls"
    Effect    = "Deny"
    Principal = "*"
    Condition = { Bool = { "aws:SecureTransport" = "false" } }
  }

  # To encrypt messages, and to decrypt the cached data key.
  key_statement = {
    Sid       = "HeadwaterNotifications"
    Effect    = "Allow"
    Principal = { Service = { sqs = ["s3.amazonaws.com"], sns = ["s3.amazonaws.com", "sns.amazonaws.com"], eventbridge = ["events.amazonaws.com"] }[var.notifications] }
    Action    = ["kms:GenerateDataKey", "kms:Decrypt"]
    Resource  = "*"
    Condition = { StringEquals = { "aws:SourceAccount" = local.account } }
  }

  # A lake outside S3 needs no right there.
  lake_parts  = try(regex("^s3a?://([^/]+)/*(.*)$", var.lake), null)
  lake_bucket = try("arn:${local.partition}:s3:::${local.lake_parts[0]}", "")
  lake_folder = try(trim(local.lake_parts[1], "/"), "")
  lake_below  = local.lake_folder == "" ? "${local.lake_bucket}/*" : "${local.lake_bucket}/${local.lake_folder}/*"
  objects     = "${local.bucket_arn}/${var.prefix}*"
  # One slash at the end, none without a target.
  clean_target = var.clean_source_move_to == null ? "" : "${replace(trimprefix(var.clean_source_move_to, "s3://"), "/\\/+$/", "")}/"

  ingest_statements = [
    {
      sid       = "Queue"
      actions   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
      resources = [local.queue_arn]
      needed    = true
    },
    {
      sid       = "Bucket"
      actions   = ["s3:GetBucketNotification", "s3:GetBucketVersioning", "s3:ListBucket"]
      resources = [local.bucket_arn]
      needed    = true
    },
    {
      sid       = "Objects"
      actions   = ["s3:GetObject", "s3:GetObjectVersion"]
      resources = [local.objects]
      needed    = true
    },
    {
      sid       = "CleanSource"
      actions   = ["s3:GetObjectTagging", "s3:GetObjectVersionTagging", "s3:PutObjectTagging", "s3:PutObjectVersionTagging"]
      resources = [local.objects]
      needed    = var.clean_source == "tag"
    },
    {
      # Never of a version: in a versioned bucket a deletion is reversible.
      sid       = "CleanSource"
      actions   = ["s3:DeleteObject"]
      resources = [local.objects]
      needed    = var.clean_source == "delete"
    },
    {
      sid       = "CleanSource"
      actions   = ["s3:DeleteObject", "s3:GetObjectTagging", "s3:GetObjectVersionTagging"]
      resources = [local.objects]
      needed    = var.clean_source == "move"
    },
    {
      sid       = "CleanSourceTarget"
      actions   = ["s3:AbortMultipartUpload", "s3:PutObject", "s3:PutObjectTagging"]
      resources = ["arn:${local.partition}:s3:::${local.clean_target}*"]
      needed    = var.clean_source == "move"
    },
    {
      sid       = "Lake"
      actions   = ["s3:GetBucketLocation", "s3:ListBucket"]
      resources = [local.lake_bucket]
      needed    = local.lake_bucket != ""
    },
    {
      sid       = "LakeObjects"
      actions   = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
      resources = [local.lake_below]
      needed    = local.lake_bucket != ""
    },
    {
      sid       = "Key"
      actions   = ["kms:Decrypt"]
      resources = [var.kms_key]
      needed    = var.kms_key != null
    },
  ]
  serve_statements = [
    {
      sid       = "Queue"
      actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl"]
      resources = [local.queue_arn]
      needed    = true
    },
    {
      sid       = "Lake"
      actions   = ["s3:GetBucketLocation", "s3:ListBucket"]
      resources = [local.lake_bucket]
      needed    = local.lake_bucket != ""
    },
    {
      sid       = "LakeObjects"
      actions   = ["s3:GetObject"]
      resources = [local.lake_below]
      needed    = local.lake_bucket != ""
    },
  ]
  role_policies = {
    for role, statements in { ingest = local.ingest_statements, serve = local.serve_statements } : role => {
      Version                        = "2012-10-17"
      Statement = [
        for item in statements :
        { Sid = item.sid, Effect = "Allow", Action = item.actions, Resource = item.resources } if item.needed
      ]
    }
  }
}
