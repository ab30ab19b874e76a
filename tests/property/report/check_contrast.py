#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_contrast.py [MEMSCOPE]

Measures the contrast of the colours of pages and pictures, as WCAG 2 defines it, light and dark, and
prints the ratio of each pair: text needs 4.5 (AA), lines and the focus ring 3. The colours are read
from the styles; a colour that a rule gives to text and that is in no pair here is a failure too.
"""
import pathlib
import re
import sys

STYLES = pathlib.Path(__file__).resolve().parents[3] / "src" / "report" / "kit" / "html"
CATEGORIES = ("weight", "buffer", "gradient", "optimizer_state", "input", "activation", "temporary", "workspace")
TEXT, LINES = 4.5, 3.0
PAIRS = (
    [(ink, ground, TEXT) for ink in ("ink", "faint", "good", "tight", "bad", "link")
     for ground in ("ground", "panel", "band")]
    + [("on-cell", category, TEXT) for category in CATEGORIES]
    + [(line, ground, LINES) for line in ("ink", "link", "tight", "bad", "faint") for ground in ("ground", "band")]
    # The mark of the budget on a bar, and the frame of a category that has the focus.
    + [("bad", "free", LINES)] + [("ink", category, LINES) for category in CATEGORIES]
)


def schemes(text):
    """The custom properties of both schemes: the dark ones replace those of the light ones."""
    light, dark = [dict(re.findall(r"--([a-z_-]+): (#[0-9a-f]{6})", block))
                   for block in re.findall(r":root \{(.*?)\}", text, re.S)]
    return {"light": light, "dark": light | dark}


def luminance(color):
    parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio_of(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def inks_of(text):
    """The properties that rules give to text: `color`, and `fill` of what is written in pictures."""
    inks = set(re.findall(r"[^-]color: var\(--([a-z_-]+)\)", text))
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
        if re.search(r"(?<![a-z])text\b|faint|on-cell|limit-text", selector):
            inks |= set(re.findall(r"fill: var\(--([a-z_-]+)\)", body))
    return inks


def main():
    picture, page = [(STYLES / name).read_text() for name in ("picture.css", "page.css")]
    passed = failed = 0
    for scheme, colors in schemes(picture).items():
        for ink, ground, least in PAIRS:
            ratio = ratio_of(colors[ink], colors[ground])
            is_enough = ratio >= least
            passed, failed = passed + is_enough, failed + (not is_enough)
            print(f"{scheme:5} {ink:8} on {ground:15} {ratio:6.2f}  needs {least}{'' if is_enough else '  TOO LITTLE'}")
    for ink in sorted(inks_of(picture + page) - {ink for ink, _, least in PAIRS if least == TEXT}):
        failed += 1
        print(f"{ink}: the colour of a text, but in no pair of this check")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
