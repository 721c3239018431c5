"""Writes Cyrillic and Greek letters, and Latin ones with accents, in the letters a to z."""

import unicodedata

__version__ = "1.0"

_ONE = str.maketrans(
    "абвгдезийклмнопрстуфыэαβγδεζηικλμνξοπρσςτυφω", "abvgdeziyklmnoprstufyeabgdeziiklmnxoprsstyfo"
)
_SEVERAL = {
    **{"ё": "yo", "ж": "zh", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "", "ь": ""},
    **{"ю": "yu", "я": "ya", "θ": "th", "χ": "ch", "ψ": "ps", "ß": "ss", "æ": "ae", "œ": "oe"},
    **{"ø": "o", "ł": "l", "đ": "d", "þ": "th"},
}
_LATIN = {**_ONE, **str.maketrans(_SEVERAL)}


def to_latin(text):
    """Return a text in ASCII; a letter that has no counterpart is left out."""
    return "".join(map(_written, unicodedata.normalize("NFC", text)))


def _written(letter):
    """Write one letter: from the table, or without its accents."""
    small = letter.lower()
    latin = small.translate(_LATIN)
    if latin == small:
        parts = unicodedata.normalize("NFKD", small).translate(_LATIN)
        latin = parts.encode("ascii", "ignore").decode("ascii")
    return latin.capitalize() if letter.isupper() else latin
