"""Numbers in one form everywhere: "1 item", "1,204 items", "$12.50", "$0.0008"."""

from __future__ import annotations


def pluralize(number: int, thing: str, things: str = "") -> str:
    """Return a number with its noun.

    Args:
        number: How many.
        thing: The noun.
        things: Its plural; with an s by default.
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def dollars(money: float) -> str:
    """Return an amount of US dollars with cents, and with more places where it is small."""
    if not money or money >= 1:
        return f"${money:,.2f}"
    return f"${money:.4f}" if money >= 0.0001 else f"${money:.6f}"
