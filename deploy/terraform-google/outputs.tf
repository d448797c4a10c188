output "source" {
  description = "The lines `source:` of headwater.yaml."
  value       = yamlencode(local.source)
}

output "subscription" {
  description = "Full name of the subscription."
  value       = google_pubsub_subscription.subscription.id
}

output "topic" {
  description = "Full name of the topic."
  value       = google_pubsub_topic.topic.id
}

output "dead_letter_subscription" {
  description = "Full name of the subscription that keeps dead letters."
  value       = google_pubsub_subscription.dead_letter.id
}
