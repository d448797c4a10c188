"""`HudiOption`: what a field of a table sets in Hudi; writer, checks and reference are derived from it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from pydantic import BaseModel

MERGER_OPTION = "hoodie.write.record.merge.custom.implementation.classes"
MERGE_MODE_OPTION = "hoodie.write.record.merge.mode"

# Without the timeline server, the second commit to a partitioned record index fails, and every commit to an
# expression index. Any table with a metadata table may get an expression index.
STREAMED_METADATA = {"hoodie.metadata.enable": "true", "hoodie.embed.timeline.server": "true"}

OptionValue = str | int | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HudiOption:
    """Metadata of a pydantic field, as in `Annotated[int, HudiOption("hoodie...")]`.

    `words` are values that differ from the upper-case form in Hudi. `also` are additional options per value;
    those under `*` apply to any value except False. `table_type` is the only type of table that can have the
    option, and `because` the reason.
    """

    key: str
    unit: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    table_type: Literal["copy_on_write", "merge_on_read"] | None = None
    because: str = ""

    def render(self, value: OptionValue) -> dict[str, str]:
        """Return the options of Hudi for a value of the field."""
        text = _write(value)
        built: dict[str, str] = {}
        # A column list that is only enabled names no columns.
        if not (self.unit == "columns" and isinstance(value, bool)):
            is_word = isinstance(value, str) and "." not in value
            built[self.key] = self.words.get(text, text.upper() if is_word else text)
        built |= self.also.get(text, {})
        if value is not False:
            built |= self.also.get("*", {})
        return built


def find_choice(model: type[BaseModel], name: str, text: str) -> str | None:
    """Return the choice of a model's field that Hudi writes as `text`, in any case; None without one."""
    info = model.model_fields[name]
    option = next(found for found in info.metadata if isinstance(found, HudiOption))
    choices = _iter_choices(info.annotation)
    return next((one for one in choices if option.render(one)[option.key].lower() == text.lower()), None)


def _iter_choices(annotation: object) -> Iterator[str]:
    for part in get_args(annotation):
        if isinstance(part, str):
            yield part
        else:
            yield from _iter_choices(part)


def _write(value: OptionValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def iter_hudi_options(model: type[BaseModel], below: str = "") -> Iterator[tuple[str, HudiOption]]:
    """Yield the options of a model and of its sections by path, such as `index.buckets`."""
    for name, info in model.model_fields.items():
        path = f"{below}{name}"
        yield from ((path, found) for found in info.metadata if isinstance(found, HudiOption))
        for part in (info.annotation, *get_args(info.annotation)):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from iter_hudi_options(part, f"{path}.")
