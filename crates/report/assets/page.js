// The page of a report: draws its charts when the page is there, and again when the reader chooses otherwise.
// In: the values in the page. Out: charts in their places. Without this script the tables say the same.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("values").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const state = { hidden: [], sort: "answer", scale: "linear", cut: 0, printing: false };
  const places = [...document.querySelectorAll(".chart")].map((node) => {
    const { scaling, course } = node.dataset;
    if (scaling !== undefined) return { node, row: data.scalings[Number(scaling)], kind: "scaling", chart: null };
    if (course !== undefined) return { node, row: data.courses[Number(course)], kind: "course", chart: null };
    return { node, row: data.rows[Number(node.dataset.row)], kind: "figures", chart: null };
  });
  const theme = () => (dark.matches && !state.printing ? "dark" : "light");

  const draw = (place) => {
    // The width of paper is not known before it is printed: two columns on A4 or Letter.
    const width = state.printing ? 320 : place.node.clientWidth;
    if (width === 0) return;
    const settings = { ...state, theme: theme(), width };
    const height = bakeoffCharts.height(data, place.row, place.kind, settings);
    const option = bakeoffCharts.option(data, place.row, place.kind, settings);
    if (place.chart) place.chart.dispose();
    place.node.style.height = `${height}px`;
    place.chart = echarts.init(place.node, null, { renderer: "svg", width, height });
    if (option) place.chart.setOption(option);
    place.width = width;
  };

  // A few at a time, so that the page can be read and scrolled meanwhile; those in sight first.
  let queue = [];
  const later = window.requestIdleCallback || ((work) => setTimeout(work, 1));
  const step = () => {
    const start = performance.now();
    while (queue.length > 0 && performance.now() - start < 24) draw(queue.shift());
    if (queue.length > 0) later(step, { timeout: 60 });
  };
  const drawAll = () => {
    const away = (place) => {
      const box = place.node.getBoundingClientRect();
      return box.bottom < 0 ? -box.bottom + 1e5 : box.top;
    };
    const idle = queue.length === 0;
    queue = [...places].sort((a, b) => away(a) - away(b));
    if (idle) later(step, { timeout: 60 });
  };

  // Pointing at a contender, or reaching it by the keyboard, follows it through the whole picture. The picture is one stop of the
  // tabulator; arrows lead from line to line.
  const lines = [...document.querySelectorAll(".card g[data-c]")];
  const follow = (contender) => {
    for (const line of lines) line.classList.toggle("followed", contender !== null && line.dataset.c === contender);
  };
  for (const line of lines) {
    for (const event of ["mouseenter", "focus"]) line.addEventListener(event, () => follow(line.dataset.c));
    for (const event of ["mouseleave", "blur"]) line.addEventListener(event, () => follow(null));
    line.addEventListener("keydown", (event) => {
      const way = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      const next = way && lines[lines.indexOf(line) + way];
      if (!next) return;
      event.preventDefault();
      line.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }
  if (lines.length > 0) lines[0].tabIndex = 0;

  // What a link leads to is unfolded, and charts are drawn when their place has a width.
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.closest(".fold");
    if (!fold) return;
    fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  for (const fold of document.querySelectorAll(".fold")) fold.addEventListener("toggle", () => fold.open && drawAll());

  for (const input of document.querySelectorAll(".chip input")) {
    input.addEventListener("change", () => {
      const hidden = [...document.querySelectorAll(".chip input")].filter((other) => !other.checked);
      if (hidden.length === document.querySelectorAll(".chip input").length) {
        input.checked = true;
        return;
      }
      state.hidden = hidden.map((other) => Number(other.value));
      for (const cell of document.querySelectorAll("[data-c]")) cell.toggleAttribute("hidden", state.hidden.includes(Number(cell.dataset.c)));
      drawAll();
    });
  }
  const tabsOf = (place) => document.querySelector(`.tabs[data-of="${place.node.id}"]`);
  const press = (place) => {
    const tabs = tabsOf(place);
    if (tabs) for (const button of tabs.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.value === place.kind));
  };
  // All charts that show figures go to the axis, and of the tables by axis only that one stays.
  const pivot = (axis) => {
    for (const place of places) {
      if (place.kind !== "figures" && !place.kind.startsWith("axis:")) continue;
      const kind = axis === "" ? "figures" : `axis:${axis}`;
      const tabs = tabsOf(place);
      place.kind = tabs && tabs.querySelector(`button[value="${kind}"]`) ? kind : "figures";
      press(place);
    }
    for (const part of document.querySelectorAll("[data-pivot]")) part.hidden = axis !== "" && part.dataset.pivot !== axis;
    drawAll();
  };
  for (const select of document.querySelectorAll(".controls select")) {
    select.addEventListener("change", () => {
      if (select.name === "pivot") {
        pivot(select.value);
        return;
      }
      state[select.name] = select.name === "cut" ? Number(select.value) : select.value;
      drawAll();
    });
  }
  for (const tabs of document.querySelectorAll(".tabs")) {
    const place = places.find((found) => found.node === document.getElementById(tabs.dataset.of));
    for (const button of tabs.querySelectorAll("button")) {
      button.addEventListener("click", () => {
        place.kind = button.value;
        press(place);
        draw(place);
      });
    }
  }
  const copy = document.getElementById("copy");
  if (copy) {
    copy.addEventListener("click", () => {
      navigator.clipboard.writeText(document.getElementById("repeat").textContent).then(() => {
        copy.textContent = "Copied";
      });
    });
  }
  dark.addEventListener("change", drawAll);
  let resizing = 0;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => {
      if (places.some((place) => place.node.clientWidth !== place.width)) drawAll();
    }, 120);
  });
  const print = (printing) => {
    state.printing = printing;
    queue = [];
    // Paper cannot be unfolded.
    for (const fold of document.querySelectorAll(".fold")) {
      if (printing) fold.dataset.open = fold.open;
      fold.open = printing || fold.dataset.open === "true";
    }
    for (const place of places) {
      const kind = place.kind;
      if (printing && kind !== "scaling" && kind !== "course") place.kind = "figures";
      draw(place);
      place.kind = kind;
    }
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  unfold();
  drawAll();
})();
