resource "google_pubsub_topic" "dead_letter" {
  project = var.project
  name    = local.dead_letter_name
  labels  = var.labels
}

resource "google_pubsub_subscription" "dead_letter" {
  project                    = var.project
  name                       = local.dead_letter_name
  topic                      = google_pubsub_topic.dead_letter.id
  message_retention_duration = "${local.retention_seconds}s"
  labels                     = var.labels

  # It never expires.
  expiration_policy {
    ttl = ""
  }
}

resource "google_pubsub_topic" "topic" {
  project = var.project
  name    = local.name
  labels  = var.labels
}

resource "google_pubsub_subscription" "subscription" {
  project                    = var.project
  name                       = local.name
  topic                      = google_pubsub_topic.topic.id
  ack_deadline_seconds       = var.ack_deadline
  message_retention_duration = "${local.retention_seconds}s"
  labels                     = var.labels

  expiration_policy {
    ttl = ""
  }

  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.dead_letter.id
    max_delivery_attempts = var.max_delivery_attempts
  }
}

resource "google_pubsub_topic_iam_member" "notifications" {
  project = var.project
  topic   = google_pubsub_topic.topic.name
  role    = "roles/pubsub.publisher"
  member  = local.storage_agent
}

resource "google_pubsub_topic_iam_member" "dead_letters" {
  project = var.project
  topic   = google_pubsub_topic.dead_letter.name
  role    = "roles/pubsub.publisher"
  member  = local.pubsub_agent
}

resource "google_pubsub_subscription_iam_member" "dead_letters" {
  project      = var.project
  subscription = google_pubsub_subscription.subscription.name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent
}

resource "google_storage_notification" "bucket" {
  bucket             = var.bucket
  topic              = google_pubsub_topic.topic.id
  payload_format     = "JSON_API_V1"
  event_types        = local.events
  object_name_prefix = var.prefix == "" ? null : var.prefix

  # Cloud Storage checks the right to publish when the notification is created.
  depends_on = [google_pubsub_topic_iam_member.notifications]
}
