from collections import Counter

import pytest

from headwater.rag.lexical.languages import LANGUAGES, Language


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_each_word_is_in_one_list(language: Language) -> None:
    counts = Counter([*language.function_words, *language.question_words, *language.prose_words])
    assert [word for word, count in counts.items() if count > 1] == []
    assert language.stop_words == language.function_words | language.question_words
