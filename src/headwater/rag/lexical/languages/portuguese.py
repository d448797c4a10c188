"""Portuguese."""

from headwater.rag.lexical.languages.language import Language

PORTUGUESE = Language(
    name="portuguese",
    code="pt",
    function_words=frozenset({
        "o", "a", "os", "as", "um", "uma", "e", "ou", "nos", "se", "seu", "sua", "este", "esta",
        "sao", "que", "como", "de", "do", "da", "dos", "das", "ao", "aos", "em", "no", "na", "nas",
        "com", "por", "pelo", "pela", "para", "ate", "mais", "muito",
    }),
    question_words=frozenset({
        "uns", "umas", "mas", "eu", "tu", "ele", "ela", "eles", "elas", "me", "te", "lhe", "meu",
        "minha", "meus", "minhas", "seus", "suas", "nosso", "nossa", "esse", "essa", "isso",
        "aquele", "seja", "ser", "estar", "ha", "tem", "tenho", "quem", "qual", "quando", "onde",
        "pra", "sobre", "entre", "tambem", "ja", "tudo", "todo", "toda", "algo", "alguem", "quero",
        "procuro", "preciso", "comprar", "gosta",
    }),
    prose_words=frozenset({
        "cada", "durante", "nao", "sem",
    }),
    negators=frozenset({"sem", "nao", "exceto", "salvo", "menos", "nem", "nenhum", "nenhuma"}),
    verbal={"nao": frozenset({"que", "se", "me"})},
    fillers=frozenset({
        "um", "uma", "o", "a", "os", "as", "de", "do", "da", "em", "com", "seja", "cor",
    }),
    joiners=frozenset({"ou", "nem", "e"}),
    also=frozenset({"e"}),
    relations=(r"para", r"compativel\s+com", r"compatível\s+com"),
    ends=frozenset({
        "para", "pra", "com", "sem", "de", "do", "da", "dos", "das", "em", "no", "na", "a", "ao", "por",
        "sobre", "que", "quem", "quando", "onde", "menos", "mais", "nao", "exceto", "mas", "e", "ou",
        "entre", "contra", "ate",
    }),
)  # fmt: skip
