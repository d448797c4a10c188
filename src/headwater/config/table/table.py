"""`TableConfig`: source and settings of a data table, with all combinations of its keys checked."""

from collections.abc import Iterator
from typing import get_args

from pydantic import model_validator

from headwater.config.file_format import FileFormat, infer_format
from headwater.config.hudi.checking import PREFIX, iter_option_problems
from headwater.config.section import SectionError
from headwater.config.table.change_problems import iter_change_problems
from headwater.config.table.column_types import iter_column_type_problems
from headwater.config.table.derived import iter_derived_problems
from headwater.config.table.fields import TableFields
from headwater.config.table.file_set_problems import iter_file_set_problems
from headwater.config.table.iceberg_problems import iter_iceberg_problems
from headwater.config.table.patterns import iter_pattern_problems
from headwater.config.table.schema import iter_schema_problems
from headwater.config.table.typed_options import iter_typed_problems

KeyProblem = tuple[tuple[str, ...], str]


class TableConfig(TableFields):
    """One data table."""

    @model_validator(mode="after")
    def _check_combinations(self) -> "TableConfig":
        problems = [*iter_derived_problems(self)]
        if self.from_ is None:
            problems += [*self._format_problems(), *self._mode_problems(), *iter_pattern_problems(self)]
            problems += self._window_problems()
            problems = problems or [*iter_change_problems(self), *iter_file_set_problems(self)]
        problems += [
            *self._name_problems(),
            *self._hoodie_problems(),
            *iter_typed_problems(self),
            *iter_iceberg_problems(self),
        ]
        # Needs the format, which must be known first.
        if self.from_ is None:
            problems = problems or [*iter_schema_problems(self)]
        problems = problems or [*iter_column_type_problems(self)]
        if problems:
            raise SectionError(problems)
        return self

    def _format_problems(self) -> Iterator[KeyProblem]:
        if not self.path:
            yield ("path",), "the list is empty; remove `path` to include every object"
        elif self.format is None:
            found = {infer_format(path) for path in self.path}
            if None in found:
                unclear = next(path for path in self.path if infer_format(path) is None)
                allowed = ", ".join(get_args(FileFormat))
                yield ("format",), f"missing, and path {unclear!r} does not imply it. Allowed: {allowed}"
            elif len(found) > 1:
                names = ", ".join(sorted(str(name) for name in found))
                yield (
                    ("path",),
                    (f"the paths imply several formats ({names}), and a table has one; set `format`"),
                )

    def _window_problems(self) -> Iterator[KeyProblem]:
        for name in ("modified_after", "modified_before"):
            time = getattr(self, name)
            if time is not None and time.microsecond:
                yield (name,), "a fraction of a second is not allowed: stores return whole seconds"
        if self.modified_after and self.modified_before and self.modified_after >= self.modified_before:
            yield ("modified_before",), "must be later than `modified_after`; otherwise no object is included"

    def _mode_problems(self) -> Iterator[KeyProblem]:
        mode = self.effective_mode
        if self.on_object_removed not in (None, self.effective_on_object_removed):
            yield (
                ("on_object_removed",),
                f"{self.on_object_removed!r} cannot be combined with `mode: {mode}`. Allowed: "
                f"{self.effective_on_object_removed}. To delete rows of removed objects, use `mode: mirror`, "
                "or a table built `from` a mirror",
            )
        if mode == "mirror":
            yield from self._mirror_problems()
        if mode == "merge" and not self.record_key:
            yield ("record_key",), "missing; `mode: merge` requires the fields that identify a row"
        if mode == "append" and self.ordering:
            yield ("ordering",), "not applicable with `mode: append`; use `mode: merge` with a `record_key`"
        if mode == "append" and self.operation == "upsert" and self.cdc == "off":
            yield (
                ("operation",),
                "'upsert' requires `mode: merge` with a `record_key`. Allowed: insert, bulk_insert",
            )
        if self.cdc != "off" and self.operation == "insert":
            yield (
                ("operation",),
                f"'insert' cannot be combined with `cdc: {self.cdc}`: Hudi would log only some of the "
                "changes. Allowed: bulk_insert; or remove it to upsert rows",
            )
        if mode == "merge" and self.operation in ("insert", "bulk_insert"):
            yield (
                ("operation",),
                f"{self.operation!r} would keep duplicates with `mode: merge`. Allowed: upsert",
            )

    def _mirror_problems(self) -> Iterator[KeyProblem]:
        text = "not applicable with `mode: mirror`, where rows follow their object; use `mode: merge`"
        if self.record_key:
            yield ("record_key",), text
        if self.ordering:
            yield ("ordering",), text
        if self.operation in ("insert", "bulk_insert"):
            yield (
                ("operation",),
                f"{self.operation!r} cannot replace rows (`mode: mirror`). Allowed: upsert",
            )

    def _name_problems(self) -> Iterator[KeyProblem]:
        names_by_key = {
            "transform": [step.name for step in self.transform if step.name],
            "checks": [check.name for check in self.checks if check.name],
        }
        for key, names in names_by_key.items():
            for name in sorted({name for name in names if names.count(name) > 1}):
                yield (key,), f"duplicate name {name!r}; choose unique names"

    def _hoodie_problems(self) -> Iterator[KeyProblem]:
        for key in self.hoodie:
            if not key.startswith(PREFIX):
                yield ("hoodie", key), f"unknown key {key!r}; Hudi's options start with `{PREFIX}`"
        given = {key: value for key, value in self.hoodie.items() if key.startswith(PREFIX)}
        for key, text in iter_option_problems(given):
            yield ("hoodie", key), text
