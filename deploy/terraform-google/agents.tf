# Google's service agents: that of Cloud Storage publishes notifications, that of Pub/Sub moves dead letters.
data "google_project" "project" {
  project_id = var.project
}

data "google_storage_bucket" "bucket" {
  name = var.bucket
}

data "google_storage_project_service_account" "bucket" {
  project = data.google_storage_bucket.bucket.project
}

locals {
  storage_agent = data.google_storage_project_service_account.bucket.member
  pubsub_agent  = "serviceAccount:service-${data.google_project.project.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
}
