"""Language models that write answers. To add a vendor, add a file here and an entry in the table."""

from collections.abc import Callable, Mapping

from headwater.config.search.serving import LLM_KEY_VARIABLE, LanguageModelConfig
from headwater.rag.language_models.breaker import BreakingModel
from headwater.rag.language_models.protocol import LanguageModel
from headwater.rag.prompts import Prompt

__all__ = ["LanguageModel", "build_language_model"]


def _build_openai(config: LanguageModelConfig, key: str, prompt: Prompt | None) -> LanguageModel:
    from headwater.rag.language_models.openai import OpenAILanguageModel

    del prompt
    return OpenAILanguageModel(config, key)


def _build_scripted(config: LanguageModelConfig, key: str, prompt: Prompt | None) -> LanguageModel:
    from headwater.rag.language_models.scripted import ScriptedLanguageModel

    del config, key
    return ScriptedLanguageModel(prompt=prompt)


_BUILDERS: dict[str, Callable[[LanguageModelConfig, str, Prompt | None], LanguageModel]] = {
    "openai": _build_openai,
    "scripted": _build_scripted,
}
_NEED_A_KEY = frozenset({"openai"})


def build_language_model(
    config: LanguageModelConfig | None, environ: Mapping[str, str], prompt: Prompt | None = None
) -> LanguageModel | None:
    """Build the configured model. `prompt` is what a scripted model knows as ours.

    None without a configured model or without its key; answers are extracts then.
    """
    if config is None:
        return None
    key = environ.get(LLM_KEY_VARIABLE, "").strip()
    if not key and config.type in _NEED_A_KEY:
        return None
    return BreakingModel(_BUILDERS[config.type](config, key, prompt))
