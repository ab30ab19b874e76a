#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_accessible.py MEMSCOPE

What a screen reader and a keyboard get of memscope's pages: each kind of page is opened in a headless Chromium, on a desk in light
colours and on a phone in dark ones, and its accessibility tree is looked through. Controls, pictures and tables have names, headings and
landmarks are in order, rows have headings, pictures are one thing each, nothing that is shown is left out, and the keyboard's place is
seen. At last the page is broken in each of these ways, which has to be found. Where CHECK_EVERY is more than 1, each page is looked at in
one of both places, and every third way to break it is tried. Skipped, and it says so, where there is no Chromium.
"""
import os
import pathlib
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "external/readers"), str(pathlib.Path(__file__).resolve().parent)]

import check_browser  # noqa: E402
import devtools  # noqa: E402

EVERY = int(os.environ.get("CHECK_EVERY", "1"))
PLACES = [(1280, "light"), (390, "dark")]
CONTROLS = {"link", "button", "slider", "searchbox", "textbox", "checkbox", "combobox", "radio", "switch", "tab"}
PICTURES = {"image", "slider"}
STRUCTURE = {"heading", "row", "columnheader", "rowheader"}
LANDMARKS = ("banner", "navigation", "main", "contentinfo")
MOST_STOPS = 80
# What is focused, by its place in the document, and whether that is seen: an outline, or the frame of an area of the treemap.
STOP = """(() => {
  const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
  if (at === document.body || at === document.documentElement) return null;
  const frame = at.matches("g.category") ? getComputedStyle(at.querySelector(".head")) : null;
  const is_outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const is_framed = frame && frame.stroke !== "none" && parseFloat(frame.strokeWidth) >= 4;
  const shown = box.width > 1 && box.height > 1 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight;
  return { index: Array.from(document.querySelectorAll("*")).indexOf(at), text: at.outerHTML.slice(0, 90),
    is_seen: shown && Boolean(is_outlined || is_framed) };
})()"""
# Words of the fault, and what makes it.
BREAKS = [
    ("no name: slider", "document.querySelectorAll('svg.timeline').forEach((e) => e.removeAttribute('aria-label'))"),
    ("no name: searchbox", "document.querySelector('label').remove()"),
    ("no name: button", "document.querySelectorAll('g.category').forEach((e) => e.removeAttribute('aria-label'))"),
    ("no name: image", "document.querySelector('.bar').removeAttribute('aria-label')"),
    ("tells no figure", "document.querySelector('.bar').setAttribute('aria-label', 'a bar')"),
    ("parts of a picture are read", "document.querySelectorAll('.bar span').forEach((e) => e.removeAttribute('aria-hidden'))"),
    ("a table without a name", "document.querySelector('caption').remove()"),
    ("a column without a heading", "document.querySelector('thead th').textContent = ''"),
    ("a row without a heading", "document.querySelector('tbody th').setAttribute('role', 'cell')"),
    ("rows are missing", "document.querySelector('#operators .wide').setAttribute('aria-hidden', 'true')"),
    ("rows are missing", "document.documentElement.className = ''"),
    ("headings", "document.querySelector('h2').setAttribute('aria-level', '4')"),
    ("landmarks", "document.querySelector('nav').remove()"),
    ("a region without a name", "document.querySelector('section').setAttribute('aria-labelledby', 'nothing')"),
    ("language", "document.documentElement.removeAttribute('lang')"),
    ("is not announced", "document.querySelector('output').remove()"),
    ("the keyboard's place is not seen", "document.head.append(Object.assign(document.createElement('style'), "
                                         "{ textContent: ':focus-visible { outline: none !important }' }))"),
    ("against the order of reading", "document.querySelector('.filter input').tabIndex = 1"),
]


def value(node, key):
    return (node.get(key) or {}).get("value") or ""


class Tree:
    """The nodes that are read, each with those above it."""

    def __init__(self, nodes):
        self.by_id = {node["nodeId"]: node for node in nodes}
        self.read, self.below = [], {}
        self.walk(nodes[0], ())

    def walk(self, node, above):
        if not node.get("ignored"):
            self.read.append((node, above))
            if value(node, "role") in STRUCTURE:
                for outer in above:
                    self.below.setdefault(outer["nodeId"], []).append(node)
            above = (*above, node)
        for child in node.get("childIds", []):
            if child in self.by_id:
                self.walk(self.by_id[child], above)

    def of(self, *roles):
        return [node for node, _ in self.read if value(node, "role") in roles]

    def inside(self, outer, role):
        return [node for node in self.below.get(outer["nodeId"], []) if value(node, "role") == role]


def property_of(node, name):
    return next((p["value"].get("value") for p in node.get("properties", []) if p["name"] == name), None)


def faults_of_names(tree):
    for node in tree.of(*CONTROLS, *PICTURES):
        if not value(node, "name").strip():
            yield f"no name: {value(node, 'role')}"
    for node, above in tree.read:
        role = value(node, "role")
        picture = next((outer for outer in above if value(outer, "role") in PICTURES), None)
        if picture or role.startswith("graphics") or role.startswith("Svg"):
            yield f"parts of a picture are read: {role} '{value(node, 'name')[:60]}'"
    for node in tree.of("image", "slider"):
        if not any(c.isdigit() for c in value(node, "name")):
            yield f"a picture tells no figure: {value(node, 'name')}"


def faults_of_structure(tree, sections):
    if not value(tree.read[0][0], "name"):
        yield "the page has no title"
    levels = [property_of(node, "level") for node in tree.of("heading")]
    if not levels or levels[0] != 1 or levels.count(1) != 1 or any(b > a + 1 for a, b in zip(levels, levels[1:])):
        yield f"headings are not in order: {levels}"
    for role in LANDMARKS:
        if len(tree.of(role)) != 1:
            yield f"landmarks: {len(tree.of(role))} of {role}"
    if len(tree.of("region")) != sections:
        yield f"a region without a name: {len(tree.of('region'))} of {sections} have one"
    for node in tree.of("region"):
        if not tree.inside(node, "heading"):
            yield f"a region without a heading: {value(node, 'name')}"


def faults_of_tables(tree, shown_rows):
    rows = 0
    for table in tree.of("table"):
        name = value(table, "name")
        heads = tree.inside(table, "columnheader")
        if not name:
            yield "a table without a name"
        if not heads or not all(value(head, "name") for head in heads):
            yield f"a column without a heading: {name}"
        for row in tree.inside(table, "row"):
            if tree.inside(row, "columnheader"):
                continue
            rows += 1
            if len(tree.inside(row, "rowheader")) != 1:
                yield f"a row without a heading: {name}"
                break
    if rows != shown_rows:
        yield f"rows are missing: {rows} of {shown_rows}"


def faults_of_page(page, tree):
    if page.value("document.documentElement.lang") != "en":
        yield "the language is not said"
    # What the script changes as it is used: the count of the filter, and the note below the treemap.
    live = sum(property_of(node, "live") == "polite" for node, _ in tree.read)
    wanted = page.value("Boolean(document.getElementById('filter')) + Array.from(document.querySelectorAll('svg.composition'))"
                        ".filter((e) => e.getBoundingClientRect().width).length")
    if live != wanted or page.value("Boolean(document.querySelector('#filter') && !document.querySelector('.filter output'))"):
        yield f"what changes is not announced: {live} of {wanted}"


def press(page, key):
    for kind in ("rawKeyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "ArrowLeft": 37}[key])


def faults_of_keyboard(page):
    last, stops = -1, 0
    page.value("document.activeElement.blur(); scrollTo(0, 0)")
    while stops < MOST_STOPS:
        press(page, "Tab")
        stop = page.value(STOP)
        if not stop or stop["index"] == last:
            break
        if stop["index"] < last:
            if stops < page.value("document.querySelectorAll('a, button, input, [tabindex=\"0\"]').length") - page.value(HIDDEN_STOPS):
                yield f"against the order of reading: {stop['text']}"
            break
        if not stop["is_seen"]:
            yield f"the keyboard's place is not seen: {stop['text']}"
        last, stops = stop["index"], stops + 1
    if stops == 0:
        yield "the keyboard reaches nothing"


HIDDEN_STOPS = """Array.from(document.querySelectorAll('a, button, input, [tabindex="0"]')).filter((e) => !e.getClientRects().length).length"""
SHOWN_ROWS = "Array.from(document.querySelectorAll('tbody tr')).filter((row) => !row.hidden).length"


def faults(page):
    tree = Tree(page.call("Accessibility.getFullAXTree")["nodes"])
    return [*faults_of_names(tree), *faults_of_structure(tree, page.value("document.querySelectorAll('section').length")), *faults_of_tables(tree, page.value(SHOWN_ROWS)),
            *faults_of_page(page, tree), *faults_of_keyboard(page)]


def open_page(page, path, width, scheme):
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.go(path.as_uri())
    page.wait_for(f"document.documentElement?.className === 'whole' && location.href === '{path.as_uri()}'")


def check_pages(page, paths):
    for i, (label, path) in enumerate(paths.items()):
        for width, scheme in PLACES if EVERY == 1 else PLACES[i % 2:i % 2 + 1]:
            open_page(page, path, width, scheme)
            found = faults(page)
            yield f"{label}, {width} pixels", found[:3]


def check_breaks(page, path):
    """Each fault is found where it is made."""
    for words, script in BREAKS[::1 if EVERY == 1 else 3]:
        open_page(page, path, *PLACES[0])
        page.value(f"{{ {script} }} null")
        yield f"broken: {words}", [] if any(words in fault for fault in faults(page)) else ["it is not found"]


def check_use(page, path):
    """What the pointer shows is reached by keys, and is said."""
    open_page(page, path, *PLACES[0])
    page.value("document.getElementById('timeline-svg').focus()")
    said = [page.value("document.activeElement.getAttribute('aria-valuetext')")]
    press(page, "ArrowLeft")
    said.append(page.value("document.activeElement.getAttribute('aria-valuetext')"))
    yield "the timeline by arrow keys", [] if said[0] != said[1] and all(": " in text for text in said) else said
    page.value("document.querySelector('svg.wide-picture g.category').focus()")
    press(page, "Enter")
    note = page.value("document.querySelector('p.note.wide-picture[aria-live]').textContent")
    yield "the treemap by Enter", [] if "In it: " in note and note.count("iB") > 2 else [note]


def main():
    chromium = check_browser.find_browser()
    if not chromium:
        print("check_accessible: skipped, there is no Chromium here")
        print("0 passed, 0 failed")
        return 0
    passed = failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = check_browser.Browser(str(pathlib.Path(sys.argv[1]).resolve()), chromium, folder)
        paths = {}
        for label, command, arguments in check_browser.PAGES:
            paths[label] = pathlib.Path(folder) / f"{label.replace(' ', '-')}.html"
            paths[label].write_text(browser.report(command, arguments, "html"))
        small = pathlib.Path(folder) / "small.html"
        small.write_text(browser.report("analyze", "--config gpt2 --seq 128 --device t4", "html"))
        with devtools.Page(chromium, folder, 400) as page:
            for label, found in (*check_pages(page, paths), *check_breaks(page, small), *check_use(page, small)):
                passed, failed = passed + (not found), failed + bool(found)
                for fault in found:
                    print(f"{label}: {fault}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
