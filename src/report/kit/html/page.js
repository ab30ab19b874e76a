"use strict";
(() => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const bytes = (n) => {
    let unit = 0;
    while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit++; }
    return (unit ? n.toFixed(2) : n) + " " + units[unit];
  };

  /* Columns of a table are sorted by the button in their heading; numbers by their exact value. */
  const valueOf = (row, column) => {
    const cell = row.cells[column], data = cell.querySelector("data");
    return data ? Number(data.value) : cell.textContent;
  };
  const sortBy = (table, heading, column) => {
    const body = table.tBodies[0], rows = Array.from(body.rows);
    const numeric = heading.classList.contains("n");
    const now = heading.getAttribute("aria-sort");
    const down = now ? now === "ascending" : numeric;
    const keys = new Map(rows.map((row, i) => [row, [valueOf(row, column), i]]));
    rows.sort((a, b) => {
      const [x, i] = keys.get(a), [y, j] = keys.get(b);
      const order = numeric ? x - y : x < y ? -1 : x > y ? 1 : 0;
      return (down ? -order : order) || i - j;
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sortBy(table, heading, column));
    });
  }

  /* The operators that have all the words. */
  const operators = document.querySelector("#operators table");
  if (operators) {
    const form = document.createElement("div"), label = document.createElement("label");
    const input = document.createElement("input"), count = document.createElement("output");
    form.className = "filter";
    input.type = "search";
    input.id = "filter";
    label.htmlFor = "filter";
    label.textContent = "Filter by words";
    count.setAttribute("aria-live", "polite");
    form.append(label, input, count);
    operators.closest(".wide").before(form);
    const rows = Array.from(operators.tBodies[0].rows, (row) => [row, row.textContent.toLowerCase()]);
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [row, text] of rows) {
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      count.textContent = shown + " of " + rows.length;
    };
    input.addEventListener("input", apply);
    apply();
  }

  /* A line that follows pointer or arrow keys over the timeline, and what there is at that time. */
  const source = document.getElementById("timeline-data"), svg = document.getElementById("timeline-svg");
  if (source && svg) {
    const data = JSON.parse(source.textContent);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const reading = document.getElementById("reading");
    let at = data.points.findIndex((point) => point.event === data.peak_event);
    line.setAttribute("class", "cross");
    line.setAttribute("y1", data.frame.y);
    line.setAttribute("y2", data.frame.y + data.frame.height);
    line.setAttribute("visibility", "hidden");
    svg.append(line);
    const show = (index) => {
      at = Math.max(0, Math.min(data.points.length - 1, index));
      const point = data.points[at];
      const x = data.frame.x + (data.end_ms > 0 ? point.ms / data.end_ms : 0) * data.frame.width;
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
      line.setAttribute("visibility", "visible");
      const when = data.is_timed ? point.ms.toFixed(1) + " ms" : "event " + point.event;
      const parts = data.categories.map((name, i) => [name, point.categories[i]])
        .filter(([, n]) => n > 0).map(([name, n]) => name + " " + bytes(n));
      reading.textContent = when + ", " + point.phase + ": " + bytes(point.bytes) + " (" + parts.join(", ") + ")";
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      const ms = (x - data.frame.x) / data.frame.width * data.end_ms;
      let best = 0;
      data.points.forEach((point, i) => {
        if (Math.abs(point.ms - ms) < Math.abs(data.points[best].ms - ms)) best = i;
      });
      show(best);
    });
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
      const place = { Home: 0, End: data.points.length - 1 }[event.key];
      if (step === undefined && place === undefined) return;
      show(place === undefined ? at + step : place);
      event.preventDefault();
    });
    svg.addEventListener("focus", () => show(at));
  }
})();
