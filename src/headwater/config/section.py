"""The base of every section: frozen, nothing unknown, descriptions become the reference page."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of the configuration. Unknown keys are errors; defaults are validated too."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
