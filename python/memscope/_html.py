# SPDX-License-Identifier: GPL-3.0-or-later
"""A report in a notebook: the picture and the tables of its page, without the page's own styles,
scripts and ids, which would meet those of the notebook."""
from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence

REPORT = ("peak", "phases")
PLAN = ("treatments", "needs", "peak", "beside")


def _first(pattern: str, page: str) -> str:
    match = re.search(pattern, page, re.DOTALL)
    return match[0] if match else ""


def _plain(text: str) -> str:
    """Without pictures, scripts, links and everything that a style or a link could refer to."""
    text = re.sub(r"<(svg|script|figure|nav|button|label|details)\b.*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"</?a\b[^>]*>|<input\b[^>]*>", "", text)
    return re.sub(r' (?:id|class|aria-[a-z]+|for|style|role|tabindex|data-[a-z-]+)="[^"]*"', "", text)


def fragment(page: str, picture: bytes | None, sections: Sequence[str]) -> str:
    """HTML for a cell, from the page and the picture of an answer; it refers to nothing outside."""
    verdict = re.sub(r"</?p\b[^>]*>", "", _first(r'<p class="verdict.*?</p>', page))
    title = re.sub(r"</?h1>", "", _first(r"<h1>.*?</h1>", page))
    parts = [f"<div><p><strong>{title}</strong><br>{verdict}</p>"]
    if picture:
        source = base64.b64encode(picture).decode()
        parts.append(f'<img alt="{verdict}" style="max-width: 100%" src="data:image/svg+xml;base64,{source}">')
    for name in sections:
        section = _first(rf'<section id="{name}".*?</section>', page)
        heading = _plain(_first(r"<h2\b.*?</h2>", section))
        tables = re.findall(r"<table\b.*?</table>", section, re.DOTALL)
        if tables:
            parts.append("<details><summary>" + re.sub(r"</?h2>", "", heading) + "</summary>")
            parts += [_plain(table) for table in tables] + ["</details>"]
    return "\n".join([*parts, "</div>"])


def plain(text: str) -> str:
    """Text for a cell, laid out as it is."""
    return f'<pre style="font-family: monospace">{html.escape(text)}</pre>'
