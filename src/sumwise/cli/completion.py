"""`sumwise completion`: scripts that complete commands, options and choices in a shell.

They are generated from the parser and contain everything: pressing TAB does not start Python, and
no package is needed.
"""

import argparse

SUMMARY = "print a script that completes commands and options in a shell"
EXAMPLES = """
  source <(sumwise completion bash)
  sumwise completion zsh > ~/.zfunc/_sumwise
  sumwise completion fish > ~/.config/fish/completions/sumwise.fish
"""
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the shell."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read the script")


def run(args: argparse.Namespace) -> None:
    """Print the script."""
    from sumwise.cli.main import build_parser
    from sumwise.cli.shells import write_script

    print(write_script(args.shell, build_parser()), end="")
