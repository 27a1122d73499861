"""Completion scripts for bash, zsh and fish, from a parser of commands."""

import argparse
from collections.abc import Iterable
from typing import NamedTuple


class Option(NamedTuple):
    """An option, or a positional argument if it has no flags."""

    flags: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool


class Command(NamedTuple):
    """A command with its options."""

    name: str
    help: str
    options: tuple[Option, ...]

    @property
    def flags(self) -> list[str]:
        """All flags."""
        return [flag for option in self.options for flag in option.flags]

    @property
    def choices(self) -> list[str]:
        """The values of positional arguments."""
        return [choice for option in self.options if not option.flags for choice in option.choices]


def list_commands(parser: argparse.ArgumentParser) -> list[Command]:
    """Return the commands of a parser."""
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {each.dest: each.help or "" for each in action._choices_actions}
            for name, sub in action.choices.items():
                options = tuple(map(_read_option, sub._actions))
                found.append(Command(name, texts.get(name, ""), options))
    return found


def _read_option(action: argparse.Action) -> Option:
    text = (action.help or "").replace("%(choices)s", ", ".join(map(str, action.choices or ())))
    return Option(
        tuple(action.option_strings),
        text.replace("%%", "%"),
        tuple(map(str, action.choices or ())),
        action.nargs != 0,
    )


def write_script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the script for one of bash, zsh and fish."""
    write = {"bash": _write_bash, "zsh": _write_zsh, "fish": _write_fish}[shell]
    return "\n".join(write(list_commands(parser))) + "\n"


def _write_bash(commands: list[Command]) -> Iterable[str]:
    yield "# bash completion of sumwise"
    yield "_sumwise() {"
    yield '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"'
    yield "    COMPREPLY=()"
    yield '    if [ "$COMP_CWORD" -eq 1 ]; then'
    names = " ".join(command.name for command in commands)
    yield f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))'
    yield "        return"
    yield "    fi"
    yield '    case "${COMP_WORDS[1]} $previous" in'
    for command in commands:
        for option in command.options:
            if option.flags and option.choices:
                pattern = "|".join(f'"{command.name} {flag}"' for flag in option.flags)
                yield f"        {pattern})"
                values = " ".join(option.choices)
                yield f'            COMPREPLY=($(compgen -W "{values}" -- "$current")); return ;;'
    yield "    esac"
    yield '    case "${COMP_WORDS[1]}" in'
    for command in commands:
        words = " ".join((*command.flags, *command.choices))
        yield f"        {command.name}) local words='{words}' ;;"
    yield "        *) local words='' ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "    # With -o default, bash completes files where no word fits."
    yield "}"
    yield "complete -o default -F _sumwise sumwise"


def _write_zsh(commands: list[Command]) -> Iterable[str]:
    yield "#compdef sumwise"
    yield "_sumwise() {"
    yield "    local -a commands"
    yield "    commands=("
    for command in commands:
        yield f"        {_quote(f'{command.name}:{command.help}')}"
    yield "    )"
    yield "    if (( CURRENT == 2 )); then"
    yield "        _describe 'command' commands"
    yield "        return"
    yield "    fi"
    yield '    case "${words[2]}" in'
    for command in commands:
        yield f"        {command.name})"
        yield "            shift words; (( CURRENT-- ))"
        yield "            _arguments \\"
        for option in command.options:
            for flag in option.flags:
                yield f"                {_quote(_specify(flag, option))} \\"
        values = f"({' '.join(command.choices)})" if command.choices else "_files"
        yield f"                {_quote(f'*:argument:{values}')} ;;"
    yield "    esac"
    yield "}"
    yield "compdef _sumwise sumwise"


def _specify(flag: str, option: Option) -> str:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
    if not option.takes_value:
        return f"{flag}[{text}]"
    values = f"({' '.join(option.choices)})" if option.choices else "_files"
    return f"*{flag}[{text}]:value:{values}"


def _write_fish(commands: list[Command]) -> Iterable[str]:
    yield "# fish completion of sumwise"
    for command in commands:
        yield (
            f"complete -c sumwise -n __fish_use_subcommand -f -a {command.name} "
            f"-d {_quote(command.help)}"
        )
    for command in commands:
        condition = f"-n '__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            line = f"complete -c sumwise {condition}"
            for flag in option.flags:
                line += f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}"
            if option.choices:
                line += f" -x -a {_quote(' '.join(option.choices))}"
            elif not option.flags:
                continue
            elif option.takes_value:
                line += " -r"
            yield f"{line} -d {_quote(option.help)}"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
