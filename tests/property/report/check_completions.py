#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Completions are those that the program makes, name every option that its help names, and are read by the shells that are there."""
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]
FILES = {"zsh": TOP / "completions/_memscope", "fish": TOP / "completions/memscope.fish"}


def said_by(program, *words):
    return subprocess.run([program, *words], capture_output=True, check=True).stdout.decode()


def commands_of(program):
    text = said_by(program, "help").split("\nCommands\n", 1)[1].split("\n\n", 1)[0]
    return [line.split()[0] for line in text.splitlines()]


def check_current(program, shell):
    assert FILES[shell].read_text() == said_by(program, "help", "--completion", shell), "make completions"


def check_options(program, shell):
    text = FILES[shell].read_text()
    for command in commands_of(program):
        part = {"zsh": lambda: text.split(f"\n_memscope_{command}() {{", 1)[1].split("\n}\n", 1)[0],
                "fish": lambda: "\n".join(line for line in text.splitlines() if f"${command} " in line)}[shell]()
        for option in re.findall(r"^  (?:-\w, )?--([a-z][a-z0-9-]+)", said_by(program, "help", command), re.M):
            pattern = rf"'--{option}\[" if shell == "zsh" else rf" -l {option}( |$)"
            assert re.search(pattern, part, re.M), (command, option)


def check_syntax(program, shell):
    if shutil.which(shell):
        subprocess.run([shell, "-n", str(FILES[shell])], check=True)


def check_colons(program, shell):
    """In zsh an unescaped colon ends the list of values."""
    for values in re.findall(r":\(([^()']*)\)'", FILES[shell].read_text()):
        assert not re.search(r"(?<!\\):", values), values


TYPES_IN_ZSH = r"""
zmodload zsh/zpty || exit 0
zpty z zsh -f -i
zpty -w z "path=('$1' \$path); fpath=('$2' \$fpath); autoload -U compinit; compinit -u -D; print REA''DY"
zpty -r z seen '*READY*'
zpty -w -n z $'memscope analyze --quantize nf4:\t'
zpty -r -m z seen '*nf4:double*'
zpty -d z
"""


def check_typed(program):
    """A value with a colon is completed."""
    if shutil.which("zsh"):
        folders = [str(pathlib.Path(program).resolve().parent), str(FILES["zsh"].parent)]
        subprocess.run(["zsh", "-f", "-c", TYPES_IN_ZSH, "zsh", *folders], stdin=subprocess.DEVNULL, check=True, timeout=60)


# Options whose values are words, and a run that takes them.
WORDS = {
    "analyze mixtral-8x7b --seq 64 --format json": "dtype autocast optimizer attention experts allocator liger checkpointing checkpoint-kind color",
    "plan smollm2-135m --seq 64 --device l4 --format json": "planner target without allow rules-mode",
    "fit smollm2-135m --device l4 --seq 64 --lora q_proj --format json": "what",
}


def check_words(program):
    """What bash asks for: each word is one that the option takes."""
    for words, option in ((words, option) for words, options in WORDS.items() for option in options.split()):
        values = said_by(program, "help", "--completion", "words", words.split()[0], "--" + option).split()
        assert values, option
        for value in values:
            ran = subprocess.run([program, *words.split(), f"--{option}", value, "-q", "-o", "/dev/null"], capture_output=True, check=False)
            reason = ran.stderr.decode()
            assert ran.returncode in (0, 1, 3) or not re.search(r"expected|needs|is not a|is empty|: no (?!plan for)", reason), (option, value, reason)
    assert said_by(program, "help", "--completion", "words", "analyze", "--device").strip() == "@devices"
    assert said_by(program, "help", "--completion", "words", "diff", "--format").split() == ["console", "json", "md", "html"]


def main():
    program, passed, failed = sys.argv[1], 0, 0
    checks = [(check, shell) for check in (check_current, check_options, check_syntax) for shell in FILES] + [(check_colons, "zsh"), (check_typed,), (check_words,)]
    for check, *arguments in checks:
        try:
            check(program, *arguments)
            passed += 1
        except Exception as error:
            failed += 1
            print(f"{check.__name__} {' '.join(arguments)}: {type(error).__name__}: {str(error)[:300]}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
