# The same names as those that `headwater up` derives: src/headwater/sources/planning/names.py.
locals {
  whole    = "headwater-${var.bucket}"
  is_plain = var.prefix == "" && length(local.whole) <= 75 && can(regex("^[A-Za-z0-9_-]+$", local.whole))
  digest   = substr(sha256("${var.bucket}\u0000${var.prefix}"), 0, 8)
  readable = trim(replace("${local.whole}-${var.prefix}", "/[^A-Za-z0-9_-]+/", "-"), "-")
  derived  = local.is_plain ? local.whole : "${replace(substr(local.readable, 0, 66), "/-+$/", "")}-${local.digest}"

  name             = coalesce(var.name, local.derived)
  dead_letter_name = "${local.name}-dead"
}
