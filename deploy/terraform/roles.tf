resource "aws_iam_policy" "policy" {
  for_each    = local.role_policies
  name        = "${local.role_name}-${each.key}"
  description = "headwater ${each.key}: least privilege for one bucket and one lake"
  policy      = jsonencode(each.value)
  tags        = var.tags
}

resource "aws_iam_role" "role" {
  for_each           = toset(local.trusted_roles)
  name               = "${local.role_name}-${each.key}"
  assume_role_policy = jsonencode(local.trust[each.key])
  tags               = var.tags
}

resource "aws_iam_role_policy_attachment" "own" {
  for_each   = toset(local.trusted_roles)
  role       = aws_iam_role.role[each.key].name
  policy_arn = aws_iam_policy.policy[each.key].arn
}

resource "aws_iam_role_policy_attachment" "additional" {
  for_each   = local.attachments
  role       = aws_iam_role.role[each.value.role].name
  policy_arn = each.value.arn
}
