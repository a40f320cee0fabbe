"""Writes the definitions of the bundled grammars, with the lark library: ``make grammars``."""

from grammask.lark_grammars.bundled import BUNDLED, definition_text


def main() -> None:
    """Writes the file of each bundled grammar."""
    for grammar in BUNDLED.values():
        grammar.definition_path.write_text(definition_text(grammar, grammar.loaded_definition()), "utf-8")


if __name__ == "__main__":
    main()
