# Who may assume the roles. A role without a principal is not created.
locals {
  oidc_issuer = try(regex("oidc-provider/(.+)$", var.oidc_provider_arn)[0], "")
  trust = {
    for role in ["ingest", "serve"] : role => {
      Version = "2012-10-17"
      Statement = concat(
        [
          for services in [var.trusted_services] :
          { Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = services } } if length(services) > 0
        ],
        [
          for accounts in [lookup(var.service_accounts, role, [])] :
          {
            Effect    = "Allow"
            Action    = "sts:AssumeRoleWithWebIdentity"
            Principal = { Federated = var.oidc_provider_arn }
            Condition = {
              StringEquals = {
                "${local.oidc_issuer}:aud" = "sts.amazonaws.com"
                "${local.oidc_issuer}:sub" = [for account in accounts : "system:serviceaccount:${account}"]
              }
            }
          } if length(accounts) > 0
        ],
      )
    }
  }
  trusted_roles = [for role, trust in local.trust : role if length(trust.Statement) > 0]
  attachments = {
    for pair in flatten([
      for role in local.trusted_roles : [for arn in lookup(var.additional_policy_arns, role, []) : { role = role, arn = arn }]
    ]) : "${pair.role} ${pair.arn}" => pair
  }
}
