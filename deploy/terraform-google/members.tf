locals {
  bucket_roles       = ["roles/storage.legacyBucketReader", "roles/storage.objectViewer"]
  subscription_roles = ["roles/pubsub.subscriber", "roles/pubsub.viewer"]
}

resource "google_pubsub_subscription_iam_member" "members" {
  for_each     = { for pair in setproduct(local.subscription_roles, var.members) : join(" ", pair) => pair }
  project      = var.project
  subscription = google_pubsub_subscription.subscription.name
  role         = each.value[0]
  member       = each.value[1]
}

resource "google_storage_bucket_iam_member" "members" {
  for_each = { for pair in setproduct(local.bucket_roles, var.members) : join(" ", pair) => pair }
  bucket   = var.bucket
  role     = each.value[0]
  member   = each.value[1]
}
