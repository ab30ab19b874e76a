"use strict";
(() => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const bytes = (n) => {
    let unit = 0;
    while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit++; }
    return (unit ? n.toFixed(2) : n) + " " + units[unit];
  };

  const put = (element, values) => {
    for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
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
      if (!heading.textContent) return;
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
    put(count, { "aria-live": "polite", "aria-label": "Operators shown" });
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

  /* What is below the screen is left to the end, for the page to come up at once. */
  const complete = () => setTimeout(() => document.documentElement.classList.add("whole"), 0);
  if (document.readyState === "complete") complete();
  else addEventListener("load", complete);

  /* Rows that are laid out as blocks on a phone stay rows to readers that go by the layout. */
  const roles = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };
  const phone = matchMedia("(max-width: 40rem)");
  const name_parts = () => {
    if (!phone.matches) return;
    for (const part of document.querySelectorAll("table, thead, tbody, tr, td, th"))
      part.setAttribute("role", roles[part.tagName] || (part.scope === "row" ? "rowheader" : "columnheader"));
  };
  name_parts();
  phone.addEventListener("change", name_parts);

  const make = (parent, tag, class_name, text) => {
    const element = parent.appendChild(document.createElement(tag));
    if (class_name) element.className = class_name;
    if (text) element.textContent = text;
    return element;
  };

  /* A line that follows pointer or arrow keys over the timeline, and beside it what there is at that time. The
     picture is a slider then: its value is the time, and what readers say of it. */
  const source = document.getElementById("timeline-data"), reading = document.getElementById("reading");
  if (source && reading) {
    const data = JSON.parse(source.textContent), figure = reading.closest("figure");
    const names = Array.from(document.querySelectorAll("#timeline-names li"), (item) => item.textContent);
    const pictures = Array.from(figure.querySelectorAll("svg.timeline"), (svg, i) => {
      const frame = data.frames[i], line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      put(line, { class: "cross", y1: frame.y, y2: frame.y + frame.height, visibility: "hidden" });
      svg.append(line);
      put(svg, { role: "slider", tabindex: "0", "aria-valuemin": 0, "aria-valuemax": data.points.length - 1,
        "aria-describedby": "reading", "aria-label": svg.getAttribute("aria-label") + " Arrow keys read it." });
      return { svg, frame, line };
    });
    let at = data.points.findIndex((point) => point.event === data.peak_event);
    const headline = (point) => {
      const when = data.is_timed ? point.ms.toFixed(1) + " ms" : "event " + point.event;
      const layer = point.layer === undefined ? "" : ", layer " + point.layer;
      return when + ", " + point.phase + layer + ": " + bytes(point.bytes);
    };
    const tell = () => {
      const point = data.points[at], op = point.op === undefined ? "" : ", " + names[point.op];
      for (const { svg } of pictures) put(svg, { "aria-valuenow": at, "aria-valuetext": headline(point) + op });
    };
    tell();
    const fill = (point) => {
      reading.replaceChildren();
      make(reading, "strong", "", headline(point));
      if (point.op !== undefined) make(reading, "code", "", names[point.op]);
      make(reading, "span", "", data.categories.map((name, i) => [name, point.categories[i]])
        .filter(([, n]) => n > 0).map(([name, n]) => name + " " + bytes(n)).join(", "));
      if (!point.alive.length) return;
      make(reading, "span", "faint", "Largest that come and go:");
      const list = make(reading, "ul", "", "");
      for (const [name, count, n, category] of point.alive)
        make(list, "li", "", bytes(n) + " " + data.categories[category] + ": " + (count > 1 ? count + " x " : "") + names[name]);
    };
    /* On the side of the line where there is more room. */
    const place = ({ svg }, x) => {
      const box = svg.getBoundingClientRect(), frame = figure.getBoundingClientRect();
      const left = box.left - frame.left + x / svg.viewBox.baseVal.width * box.width;
      const is_left = left > frame.width / 2;
      reading.style.left = is_left ? "auto" : left + 12 + "px";
      reading.style.right = is_left ? frame.width - left + 12 + "px" : "auto";
    };
    const show = (picture, index) => {
      at = Math.max(0, Math.min(data.points.length - 1, index));
      const point = data.points[at], { frame, line } = picture;
      const x = frame.x + (data.end_ms > 0 ? point.ms / data.end_ms : 0) * frame.width;
      put(line, { x1: x, x2: x, visibility: "visible" });
      fill(point);
      tell();
      place(picture, x);
    };
    const hide = ({ line }) => {
      line.setAttribute("visibility", "hidden");
      reading.replaceChildren();
    };
    const follow = (picture, event) => {
      const { svg, frame } = picture, box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      const ms = (x - frame.x) / frame.width * data.end_ms;
      let best = 0;
      data.points.forEach((point, i) => {
        if (Math.abs(point.ms - ms) < Math.abs(data.points[best].ms - ms)) best = i;
      });
      show(picture, best);
    };
    const press = (picture, event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
      const place = { Home: 0, End: data.points.length - 1 }[event.key];
      if (event.key === "Escape") hide(picture);
      if (step === undefined && place === undefined) return;
      show(picture, place === undefined ? at + step : place);
      event.preventDefault();
    };
    for (const picture of pictures) {
      const { svg } = picture;
      svg.addEventListener("pointermove", (event) => follow(picture, event));
      svg.addEventListener("pointerdown", (event) => follow(picture, event));
      svg.addEventListener("pointerleave", (event) => {
        if (event.pointerType === "mouse" && document.activeElement !== svg) hide(picture);
      });
      svg.addEventListener("keydown", (event) => press(picture, event));
      svg.addEventListener("focus", () => show(picture, at));
      svg.addEventListener("blur", () => hide(picture));
    }
  }

  /* A category of the treemap fills the picture when it is chosen, and gives it back when it is chosen again. */
  for (const composition of document.querySelectorAll("svg.composition")) {
    const whole = { width: composition.viewBox.baseVal.width, height: composition.viewBox.baseVal.height };
    const head = 18, letter = 6.5, line = 14;
    const numbers = (rect) => ["x", "y", "width", "height"].map((name) => Number(rect.getAttribute(name)));
    /* An area that is not seen is no button; the table has it. */
    const least = 4, areas = Array.from(composition.querySelectorAll("g.category"));
    const groups = areas.filter((group) => Math.min(...numbers(group.querySelector("rect.head")).slice(2)) >= least);
    for (const group of areas) if (!groups.includes(group)) group.setAttribute("aria-hidden", "true");
    const note = document.createElement("p");
    note.setAttribute("aria-live", "polite");
    const hint = "Choose a category to see it larger.";
    note.textContent = hint;
    note.className = "note " + (composition.classList.contains("narrow-picture") ? "narrow-picture" : "wide-picture");
    composition.after(note);
    /* The end of a name tells tensors apart. */
    const shorten = (text, width) => {
      const room = Math.floor(width / letter);
      return room < 5 ? "" : text.length <= room ? text : "\u2026" + text.slice(text.length - room + 1);
    };
    const fit = (cell, from, to) => {
      const rect = cell.querySelector("rect"), [x, y, width, height] = numbers(rect);
      const fx = to.width / from.width, fy = to.height / from.height;
      const now = { x: to.x + (x - from.x) * fx, y: to.y + (y - from.y) * fy, width: width * fx, height: height * fy };
      put(rect, now);
      for (const text of cell.querySelectorAll("text")) text.remove();
      const [name, size] = cell.querySelector("title").textContent.split(/: (?=[^:]*$)/);
      const last = name.lastIndexOf(".");
      const in_two = last > 0 && name.length * letter > now.width - 8 && now.height >= 3 * line + 4;
      const names = in_two ? [name.slice(0, last), name.slice(last + 1)] : [name];
      [...names, size.replace(/ \(.*/, "")].forEach((text, i) => {
        if (now.height < (i + 1) * line + 4) return;
        const label = cell.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "text"));
        put(label, { x: now.x + 4, y: now.y + (i + 1) * line, class: "on-cell small" });
        label.textContent = shorten(text, now.width - 8);
      });
    };
    let zoomed = null, before = "";
    const leave = () => {
      zoomed.innerHTML = before;
      zoomed.setAttribute("aria-pressed", "false");
      for (const group of areas) group.removeAttribute("visibility");
      zoomed = null;
      note.textContent = hint;
    };
    const enter = (group) => {
      before = group.innerHTML;
      zoomed = group;
      for (const other of areas) if (other !== group) other.setAttribute("visibility", "hidden");
      const rect = group.querySelector("rect.head"), [x, y, width, height] = numbers(rect);
      const title = group.getAttribute("aria-label");
      put(rect, { x: 0, y: 0, width: whole.width, height: whole.height });
      for (const text of group.querySelectorAll(":scope > text")) text.remove();
      const label = group.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "text"));
      put(label, { x: 4, y: 13, class: "on-cell strong", "aria-hidden": "true" });
      label.textContent = title;
      const taken = Number(group.dataset.head);
      for (const cell of group.querySelectorAll("g.tensor"))
        fit(cell, { x, y: y + taken, width, height: height - taken },
          { x: 0, y: head, width: whole.width, height: whole.height - head });
      group.setAttribute("aria-pressed", "true");
      const tensors = Array.from(group.querySelectorAll("title"), (text) => text.textContent.replace(/ \([^)]*\)$/, ""));
      note.textContent = title + ". Choose it again, or press Escape, to see all categories. In it: " + tensors.join("; ") + ".";
    };
    const choose = (group) => {
      if (zoomed) leave();
      else enter(group);
    };
    composition.setAttribute("role", "group");
    composition.querySelector("g[aria-hidden]").removeAttribute("aria-hidden");
    for (const group of groups) {
      for (const part of group.children) part.setAttribute("aria-hidden", "true");
      put(group, { role: "button", tabindex: "0", "aria-pressed": "false" });
      group.addEventListener("click", () => choose(group));
      group.addEventListener("keydown", (event) => {
        if (event.key === "Escape" ? !zoomed : event.key !== "Enter" && event.key !== " ") return;
        choose(group);
        event.preventDefault();
      });
    }
  }
})();
