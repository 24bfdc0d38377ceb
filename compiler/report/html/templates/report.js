"use strict";
// Without this script the page is complete; with it, tables sort, charts zoom and tell exact times.
(() => {
  const figure = (n) => Math.round(n).toLocaleString("en-US");
  const tip = document.getElementById("tip");

  // Boxes of a path: bars are "m gap 0 h length", boxes "m x y h width v height h -width z".
  const spans = (path) => {
    if (path.spans) return path.spans;
    const found = [];
    let x = 0, y = 0;
    for (const [, kind, text] of path.getAttribute("d").matchAll(/([a-zA-Z])([^a-zA-Z]*)/g)) {
      const [a, b] = text.trim().split(" ").map(Number);
      if (kind === "M") { x = a; y = b; }
      else if (kind === "m") { x += a; y += b; }
      else if (kind === "h" && path.classList.contains("bars")) { found.push([x, x + a, 0, Infinity]); x += a; }
      else if (kind === "h" && a >= 0) found.push([x, x + a, y, y]);
      else if (kind === "v") found[found.length - 1][3] = y + a;
    }
    return (path.spans = found);
  };

  const place = (plot, event) => {
    const area = plot.getBoundingClientRect(), box = plot.viewBox.baseVal;
    return [box.x + (event.clientX - area.left) / area.width * box.width,
            box.y + (event.clientY - area.top) / area.height * box.height];
  };

  const told = (path, event) => {
    const plot = path.ownerSVGElement, [x, y] = place(plot, event);
    const near = spans(path).find(([l, r, t, b]) => l <= x && x <= r && t <= y && y <= b);
    const cycles = plot.closest(".chart").dataset.unit === "cycle";
    return path.dataset.title + (near && cycles ? ` | ${figure(near[0])} to ${figure(near[1])} (${figure(near[1] - near[0])} cycles)` : "");
  };

  const light = (chart, operator) => {
    for (const plot of chart.querySelectorAll("svg.plot")) plot.classList.toggle("dimmed", operator !== undefined && chart.id === "run");
    for (const path of chart.querySelectorAll("path.lit")) path.classList.remove("lit");
    if (operator === undefined) return;
    for (const path of chart.querySelectorAll(`path[data-op="${operator}"]`)) path.classList.add("lit");
  };

  for (const title of document.querySelectorAll("path > title")) {
    title.parentNode.dataset.title = title.textContent;
    title.remove();
  }

  for (const chart of document.querySelectorAll(".chart")) {
    const first = Number(chart.dataset.start), last = Math.max(first + 1, Number(chart.dataset.end));
    const plots = [...chart.querySelectorAll("svg.plot")], axis = chart.querySelector(".axis:not(.named)");
    let from = first, length = last - first;

    const draw = () => {
      length = Math.min(Math.max(length, 10), last - first);
      from = Math.min(Math.max(from, first), last - length);
      for (const plot of plots) {
        plot.viewBox.baseVal.x = from;
        plot.viewBox.baseVal.width = length;
      }
      if (!axis) return;
      let step = 1;
      while (length / step > 8) step = String(step)[0] === "2" ? step / 2 * 5 : step * 2;
      axis.replaceChildren();
      for (let at = Math.ceil(from / step) * step; at <= from + 0.95 * length; at += step) {
        const mark = document.createElement("span");
        mark.textContent = figure(at);
        mark.style.left = `${100 * (at - from) / length}%`;
        axis.append(mark);
      }
    };
    const zoom = (by, at) => {
      if (by === 0) { from = first; length = last - first; } else { from = at - (at - from) / by; length /= by; }
      draw();
    };

    for (const buttons of chart.querySelectorAll(".zoom")) {
      buttons.hidden = false;
      buttons.addEventListener("click", (event) => {
        if (event.target.dataset.zoom) zoom(Number(event.target.dataset.zoom), from + length / 2);
      });
    }
    for (const plot of plots) {
      let held = null;
      plot.addEventListener("pointermove", (event) => {
        if (held) {
          if (!held[2] && Math.abs(event.clientX - held[0]) > 3) {
            held[2] = true;
            plot.setPointerCapture(event.pointerId);
          }
          if (held[2]) {
            from = held[1] - (event.clientX - held[0]) / plot.clientWidth * length;
            draw();
          }
        }
        const path = event.target.closest("path");
        tip.hidden = !path;
        light(chart, path ? path.dataset.op : undefined);
        if (!path) return;
        tip.textContent = told(path, event);
        tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)}px`;
        tip.style.top = `${event.clientY + 16}px`;
      });
      plot.addEventListener("pointerleave", () => { held = null; tip.hidden = true; light(chart); });
      plot.addEventListener("pointerup", (event) => {
        const moved = held && held[2], path = event.target.closest("path[data-op]");
        held = null;
        if (moved || !path) return;
        const row = document.getElementById(`op-${path.dataset.op}`);
        if (!row) return;
        for (const other of document.querySelectorAll("tbody.lit")) other.classList.remove("lit");
        row.classList.add("lit");
        row.scrollIntoView({ block: "center" });
      });
      if (!axis) continue;
      plot.addEventListener("pointerdown", (event) => { held = [event.clientX, from, false]; });
      plot.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        zoom(event.deltaY < 0 ? 1.25 : 0.8, place(plot, event)[0]);
      }, { passive: false });
    }
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const filter = document.createElement("input");
    filter.type = "search";
    filter.className = "filter";
    filter.placeholder = "Show rows with these words";
    filter.setAttribute("aria-label", filter.placeholder);
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const body of table.tBodies) {
        const text = `${body.rows[0].textContent} ${body.rows[0].cells[1].title}`.toLowerCase();
        body.hidden = !words.every((word) => text.includes(word));
      }
    });
    table.parentNode.before(filter);
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent.trim();
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const falls = head.getAttribute("aria-sort") === "ascending" || (head.getAttribute("aria-sort") !== "descending" && head.classList.contains("n"));
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const key = (body) => {
          const cell = body.rows[0].cells[column];
          if (cell.dataset.v === undefined) return cell.textContent.trim();
          return cell.dataset.v === "" ? null : Number(cell.dataset.v);
        };
        const compare = (a, b) => {
          if (a === null || b === null) return (a === null) - (b === null);
          const order = typeof a === "number" ? a - b : a.localeCompare(b);
          return falls ? -order : order;
        };
        table.append(...[...table.tBodies].map((body) => [key(body), body]).sort((a, b) => compare(a[0], b[0])).map((pair) => pair[1]));
      });
    });
  }

  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const body = target && target.closest("tbody"), fold = body && body.querySelector("details.opener");
    if (fold) { fold.open = true; target.scrollIntoView({ block: "center" }); }
  };
  addEventListener("hashchange", open);
  open();
})();
