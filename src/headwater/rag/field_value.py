"""The type of a value in a row's fields, as chunks, passages and indexes hold it. Pure."""

FieldValue = str | int | float | bool | None | list[str]
