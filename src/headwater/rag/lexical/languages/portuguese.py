"""Portuguese."""

from headwater.rag.lexical.languages.language import Language

PORTUGUESE = Language(
    name="portuguese",
    stop_words=frozenset({
        "o", "a", "os", "as", "um", "uma", "uns", "umas", "e", "ou", "mas", "eu", "tu", "ele", "ela",
        "nos", "eles", "elas", "me", "te", "se", "lhe", "meu", "minha", "meus", "minhas", "seu", "sua",
        "seus", "suas", "nosso", "nossa", "este", "esta", "esse", "essa", "isso", "aquele", "sao", "seja",
        "ser", "estar", "ha", "tem", "tenho", "que", "quem", "qual", "quando", "onde", "como", "de", "do",
        "da", "dos", "das", "ao", "aos", "em", "no", "na", "nas", "com", "por", "pelo", "pela", "para",
        "pra", "sobre", "entre", "ate", "mais", "muito", "tambem", "ja", "tudo", "todo", "toda", "algo",
        "alguem", "quero", "procuro", "preciso", "comprar", "gosta",
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
