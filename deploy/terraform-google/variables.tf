variable "bucket" {
  description = "Bucket to ingest: source.bucket of headwater.yaml."
  type        = string
}

variable "prefix" {
  description = "Ingest only keys with this prefix: source.prefix."
  type        = string
  default     = ""
}

variable "project" {
  description = "Project of topics and subscriptions: source.project."
  type        = string
}

variable "name" {
  description = "Name of topic and subscription. Default: derived from bucket and prefix, as headwater does."
  type        = string
  default     = null

  validation {
    condition     = var.name == null || can(regex("^[A-Za-z][A-Za-z0-9._~+%-]{2,249}$", var.name))
    error_message = "Allowed: a letter, then 2 to 249 letters, digits and the characters . _ ~ + % -"
  }
}

variable "ack_deadline" {
  description = "Seconds for which received messages are held: source.queue.ack_deadline."
  type        = number
  default     = 30

  validation {
    condition     = var.ack_deadline >= 10 && var.ack_deadline <= 150
    error_message = "Allowed: 10 to 150."
  }
}

variable "max_delivery_attempts" {
  description = "Deliveries after which a message goes to the dead-letter topic."
  type        = number
  default     = 10

  validation {
    condition     = var.max_delivery_attempts >= 5 && var.max_delivery_attempts <= 100
    error_message = "Allowed: 5 to 100."
  }
}

variable "members" {
  description = "Members that may receive notifications and read the bucket, as `headwater run` and `doctor` do, such as [\"serviceAccount:headwater@acme-data.iam.gserviceaccount.com\"]."
  type        = set(string)
  default     = []
}

variable "labels" {
  description = "Labels of all resources. Without the label headwater_owner, `headwater up` and `down` leave them unchanged."
  type        = map(string)
  default     = {}

  validation {
    condition     = length([for name in keys(var.labels) : name if startswith(name, "headwater_")]) == 0
    error_message = "Labels that begin with headwater_ are reserved for `headwater up`."
  }
}
