# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables, JSON, pictures and flame graphs in readers that are not ours."""

import csv
import io
import json
import re
import subprocess

from devtools import serve


def passes(command):
    """A test of its own, whose last line is "N passed, M failed"."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = (done.stdout.strip() or done.stderr.strip()).split("\n")[-1]
    assert done.returncode == 0 and re.match(r"[1-9]\d* passed, 0 failed$", last), done.stdout[-300:] + done.stderr[-300:]
    return f"{command[1]}: {last}"


def in_jsonschema(program, name, value):
    import jsonschema
    schema = json.loads(subprocess.run([program, "schema", name], capture_output=True, check=True).stdout)
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    validator(schema, format_checker=validator.FORMAT_CHECKER).validate(value)
    return f"valid by `memscope schema {name}`, itself valid"


def in_python_csv(text, report):
    rows = list(csv.DictReader(io.StringIO(text.decode(), newline=""), strict=True))
    ours = [[o["name"], str(o["extra"]["count"]), str(o["memory_bytes"]), o["formula"]] for o in report["operators"]]
    assert [[r["name"], r["count"], r["memory_bytes"], r["formula"]] for r in rows] == ours
    return f"{len(rows)} operators: name, count, bytes and formula"


def tables_of(text):
    """Each table as rows of cells, as a reader sees them: escapes and emphasis are gone."""
    from markdown_it import MarkdownIt
    tables = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and token.level > 3:
            tables[-1][-1].append("".join(t.content for t in token.children))
    return tables


def in_markdown_it(text, report):
    tables = tables_of(text.decode())
    for table in tables:
        assert {len(row) for row in table} == {len(table[0])}, table[0]
    at_peak, phases = tables[0][1:], next(t for t in tables if t[0][0] == "phase")[1:]
    assert [int(row[-1]) for row in at_peak[:-1]] == sorted((c["bytes"] for c in report["peak"]["categories"] if c["bytes"]), reverse=True)
    assert int(at_peak[-1][-1]) == report["peak"]["bytes"]
    assert [row[0] for row in phases] == [p["phase"] for p in report["phases"]]
    names = {o["name"] for o in report["operators"]}
    operators = next(t for t in tables if t[0][0] == "operator")[1:]
    known = [row[0] for row in operators if row[0] in names]
    assert len(known) >= len(operators) - 2, set(row[0] for row in operators) - names
    return f"{len(tables)} tables: bytes of categories, phases, names of {len(known)} operators"


def svg_in_chromium(browser, folder, text, picture):
    width, height = (int(v) for v in re.search(rb'viewBox="0 0 (\d+) (\d+)"', text).groups())
    around = b'<!doctype html><title>svg</title><body style="margin:0"><img id="svg" src="picture.svg">'
    (folder / "picture.svg").write_bytes(text)
    with serve(browser, folder, folder, {"/picture.html": around}) as (page, address):
        page.go(address + "/picture.html")
        page.wait_for("document.getElementById('svg')?.complete")
        assert page.value("[svg.naturalWidth, svg.naturalHeight]") == [width, height]
        drawn = page.value("""(() => {
          const canvas = Object.assign(document.createElement("canvas"), { width: svg.naturalWidth, height: svg.naturalHeight });
          const context = canvas.getContext("2d");
          context.drawImage(svg, 0, 0);
          const data = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
          return new Set(data).size;
        })()""")
        page.picture(picture)
    assert drawn > 8, f"{drawn} colours"
    return f"an image of {width} x {height}, drawn"
