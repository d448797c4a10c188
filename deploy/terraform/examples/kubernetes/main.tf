# One bucket, one lake, and roles for pods on EKS. docs/how-to/deploy/terraform.md explains it.
terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

provider "aws" {
  region = "eu-west-1"
}

variable "oidc_provider_arn" {
  description = "ARN of the cluster's OIDC provider in IAM."
  type        = string
}

module "headwater" {
  source = "../.."

  bucket            = "acme-landing"
  lake              = "s3a://acme-lake/bronze"
  oidc_provider_arn = var.oidc_provider_arn
  service_accounts = {
    ingest = ["headwater:headwater"]
  }
  tags = { team = "data" }
}

output "source" {
  description = "The lines `source:` of headwater.yaml."
  value       = module.headwater.source
}

output "role_arn" {
  description = "For the annotation eks.amazonaws.com/role-arn of the service account."
  value       = module.headwater.role_arns["ingest"]
}
