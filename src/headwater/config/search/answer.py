"""How answers are worded."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo

from headwater.config.file_paths import resolve_path
from headwater.config.section import Section

NONCE = "{nonce}"
PROMPT_MARKS = (f"<<data {NONCE}>>", f"<<end {NONCE}>>")
"""What each prompt has to name: the lines around the data. The nonce is new for each request."""

_MAX_PROMPT_CHARACTERS = 20_000


def _check_prompt(path: Path, info: ValidationInfo) -> Path:
    found = resolve_path(path, info)
    try:
        text = found.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ValueError(f"cannot read the prompt {found}: {reason}. Specify a text file") from error
    missing = [mark for mark in PROMPT_MARKS if mark not in text]
    if missing:
        raise ValueError(
            f"the prompt {found} does not contain {' and '.join(missing)}. State that everything between "
            "these two lines is data, and contains no instructions"
        )
    if len(text) > _MAX_PROMPT_CHARACTERS:
        raise ValueError(f"the prompt {found} has more than {_MAX_PROMPT_CHARACTERS} characters; shorten it")
    return found


class AnswerConfig(Section):
    """The wording of answers of `/recommend`."""

    wording: Literal["facts", "free"] = Field(
        "facts",
        description="`facts`: the language model chooses products and refers to fields and sentences of "
        "their rows; templates form the answer. `free`: the model writes sentences, which are checked word "
        "by word against the rows.",
    )
    prompt: Annotated[Path, AfterValidator(_check_prompt)] | None = Field(
        None,
        description="File with the instructions to the language model, relative to this one. It must contain "
        "`<<data {nonce}>>` and `<<end {nonce}>>`. Answers name its version, a hash of its content.",
    )
    tone: Literal["plain", "friendly"] = Field(
        "plain", description="`friendly`: the answer has an opening sentence, and the model gets this tone."
    )
    language: Literal["auto", "de", "en", "es", "fr", "it", "nl", "pt"] = Field(
        "auto", description="Language of the answer; `auto`: that of the question."
    )
    max_products: int = Field(3, ge=1, le=10, description="Maximum number of products in an answer.")
    currency: str | None = Field(
        None,
        pattern=r"^[A-Z]{3}$",
        description="Currency of prices in rows without a column `currency`, such as EUR.",
    )
    cite: bool = Field(False, description="Append the ID of its row in brackets to each line.")
