variable "bucket" {
  description = "Bucket to ingest: source.bucket of headwater.yaml."
  type        = string
}

variable "prefix" {
  description = "Ingest only keys with this prefix: source.prefix."
  type        = string
  default     = ""
}

variable "lake" {
  description = "Location of the tables, such as s3a://acme-lake/bronze: lake of headwater.yaml."
  type        = string
}

variable "name" {
  description = "Name of queue, topic and rule. Default: derived from bucket and prefix, as headwater does."
  type        = string
  default     = null

  validation {
    condition     = var.name == null || can(regex("^[A-Za-z0-9_-]{1,75}$", var.name))
    error_message = "Allowed: 1 to 75 letters, digits, hyphens and underscores."
  }
}

variable "notifications" {
  description = "Route of notifications from bucket to queue: sqs, sns or eventbridge."
  type        = string
  default     = "sqs"

  validation {
    condition     = contains(["sqs", "sns", "eventbridge"], var.notifications)
    error_message = "Allowed: sqs, sns, eventbridge."
  }
}

variable "manage_notification" {
  description = "Write the bucket's notification configuration. It replaces all rules of the bucket, so set it to false if others exist, and add the output notification_rule to them."
  type        = bool
  default     = true
}

variable "bucket_owner" {
  description = "Account that owns the bucket. Default: the account of the provider."
  type        = string
  default     = null

  validation {
    condition     = var.bucket_owner == null || can(regex("^[0-9]{12}$", var.bucket_owner))
    error_message = "Allowed: the 12 digits of an account."
  }
}

variable "visibility_timeout" {
  description = "Visibility timeout of received messages, in seconds: source.queue.visibility_timeout."
  type        = number
  default     = 30

  validation {
    condition     = var.visibility_timeout >= 1 && var.visibility_timeout <= 43200
    error_message = "Allowed: 1 to 43200."
  }
}

variable "max_receive_count" {
  description = "Receives after which a message goes to the dead-letter queue."
  type        = number
  default     = 10

  validation {
    condition     = var.max_receive_count >= 3 && var.max_receive_count <= 1000
    error_message = "Allowed: 3 to 1000."
  }
}

variable "kms_key" {
  description = "ARN of the KMS key of queue and topic. Its policy must contain the output key_statement. Default: encryption managed by SQS."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key == null || can(regex("^arn:[^:]+:kms:[^:]+:[0-9]{12}:key/", var.kms_key))
    error_message = "Allowed: the ARN of a key, such as arn:aws:kms:eu-west-1:123456789012:key/..."
  }
}

variable "clean_source" {
  description = "What happens to objects that every table has ingested: off, tag, move or delete."
  type        = string
  default     = "off"

  validation {
    condition     = contains(["off", "tag", "move", "delete"], var.clean_source)
    error_message = "Allowed: off, tag, move, delete."
  }
}

variable "clean_source_move_to" {
  description = "Target location of clean_source = move, such as s3://acme-archive/landing/."
  type        = string
  default     = null

  validation {
    condition     = var.clean_source_move_to == null || can(regex("^s3://[^/]+(/.*)?$", var.clean_source_move_to))
    error_message = "Allowed: s3://BUCKET/PREFIX."
  }
}

variable "trusted_services" {
  description = "AWS services that may assume the roles, such as [\"ec2.amazonaws.com\"] or [\"emr-serverless.amazonaws.com\"]."
  type        = list(string)
  default     = []
}

variable "oidc_provider_arn" {
  description = "ARN of the cluster's OIDC provider in IAM, for roles of Kubernetes service accounts (IRSA)."
  type        = string
  default     = null
}

variable "service_accounts" {
  description = "Service accounts that may assume each role, as NAMESPACE:NAME."
  type        = map(list(string))
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.service_accounts), ["ingest", "serve"])) == 0
    error_message = "Allowed roles: ingest, serve."
  }
}

variable "additional_policy_arns" {
  description = "Further policies of each role, such as those of a Glue catalog or of a DynamoDB lock."
  type        = map(list(string))
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.additional_policy_arns), ["ingest", "serve"])) == 0
    error_message = "Allowed roles: ingest, serve."
  }
}

variable "tags" {
  description = "Tags of all resources. Without the tag headwater:owner, `headwater up` and `down` leave them unchanged."
  type        = map(string)
  default     = {}

  validation {
    condition     = length([for name in keys(var.tags) : name if startswith(lower(name), "headwater:")]) == 0
    error_message = "Tags that start with headwater: are reserved."
  }
}
