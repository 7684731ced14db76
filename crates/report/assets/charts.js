// Charts of a report: from values to options of the chart library.
// In: the values that `chart/data.rs` writes, and what the reader has chosen. Out: options, or SVG text.
// The same code draws in the page and, without a page, for the SVG and PNG files.
"use strict";
globalThis.bakeoffCharts = (() => {
  const FONT = "Inter, system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";
  // Okabe and Ito's seven, and five of Tol's: told apart by colour-blind readers; shapes differ as well.
  const PALETTE = {
    light: ["#0072b2", "#d55e00", "#009e73", "#c2608f", "#4ba6d8", "#d99300", "#4b3f9e", "#882255", "#8a8a28", "#7a4a21", "#3d9d92", "#777777"],
    dark: ["#4aa8e0", "#f08c4a", "#35bf95", "#e293b9", "#8fcdf0", "#edb84c", "#9a90ee", "#d9709f", "#c0c05a", "#c9936a", "#6cc7bd", "#a9a9a9"],
  };
  const SHAPES = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle", "emptyDiamond"];
  const THEMES = {
    light: { ink: "#1f2328", quiet: "#646b74", rule: "#e3e6ea", ground: "#ffffff" },
    dark: { ink: "#e8eaed", quiet: "#9aa2ad", rule: "#343a42", ground: "#16191d" },
  };
  const MARKS = { best: "▲", tie: "=", leading: "?", unresolved: "?", likely: "~", worse: "", alone: "" };
  // Where the returned figure is below the median, a higher lane keeps it away from the next one.
  const laneHeight = (row) => (row.both ? 34 : 26);

  const color = (slot, theme) => PALETTE[theme][slot % PALETTE[theme].length];
  // Beyond twelve contenders colours come again, fainter.
  const bold = (slot) => (slot < 12 ? 0.85 : 0.45);
  const shape = (slot) => SHAPES[slot % SHAPES.length];
  const escaped = (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  const plain = (value) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : Math.min(20, 2 - Math.floor(Math.log10(size)));
    return value.toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  };
  const duration = (ns) => {
    const [divisor, sign] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    return `${plain(ns / divisor)} ${sign}`;
  };

  // Cells that are shown, in the order that was chosen.
  const chosen = (data, row, settings) => {
    const hidden = settings.hidden || [];
    const cells = row.cells.filter((cell) => !hidden.includes(cell.c));
    const key = settings.sort || "answer";
    if (key === "best") cells.sort((a, b) => (row.higher ? b.median - a.median : a.median - b.median));
    else if (key === "name") cells.sort((a, b) => data.contenders[a.c].name.localeCompare(data.contenders[b.c].name));
    else if (key.startsWith("axis:")) {
      const { groups } = data.axes.find((axis) => axis.name === key.slice(5));
      const value = (cell) => Math.max(-1, ...groups.map((group) => group.members.indexOf(cell.c)));
      cells.sort((a, b) => value(a) - value(b) || a.c - b.c);
    }
    return cells;
  };

  const frame = (data, row, settings, what, unit, note = "") => {
    const theme = THEMES[settings.theme];
    const alone = settings.alone;
    return {
      animation: false,
      textStyle: { fontFamily: FONT, color: theme.ink },
      backgroundColor: alone ? theme.ground : "transparent",
      title: alone
        ? [
            { text: `${row.workload}: ${row.title}`, left: 20, top: 14, textStyle: { fontSize: 19, fontWeight: 600, color: theme.ink } },
            { text: `${what}, ${unit}`, left: 20, top: 42, textStyle: { fontSize: 13, fontWeight: 400, color: theme.quiet } },
            { text: `${data.source}${note}`, left: 20, bottom: 8, textStyle: { fontSize: 12, fontWeight: 400, color: theme.quiet } },
          ]
        : [],
      tooltip: alone
        ? undefined
        : {
            confine: true,
            backgroundColor: theme.ground,
            borderColor: theme.rule,
            textStyle: { color: theme.ink, fontSize: 13, fontFamily: FONT },
          },
    };
  };

  // The line of the raw device carries its name above the lanes.
  const margins = (settings, row) => {
    const above = row && row.device ? 16 : 0;
    return settings.alone ? { top: 74 + above, bottom: 72 } : { top: 6 + above, bottom: 40 };
  };

  // Width of a text in ems, roughly: the page's font is not the one of every reader, so rather too wide.
  const ems = (text) =>
    [...text].reduce((sum, letter) => sum + (/[mwMW%@…]/.test(letter) ? 0.9 : /[A-Z+=<>~&]/.test(letter) ? 0.7 : /[ijltfr.,:;|'() ]/.test(letter) ? 0.42 : 0.6), 0);

  // A horizontal picture with one line for each contender: names at the left, figures at the right.
  const lanes = (data, row, cells, settings, texts, axis) => {
    const theme = THEMES[settings.theme];
    const size = settings.alone ? 13 : 12;
    const most = settings.width < 480 ? 16 : 26;
    const width = (values) => Math.max(0, ...values.map(ems)) * size + 14;
    const names = cells.map((cell) => shortened(data.contenders[cell.c].name, most));
    const category = { type: "category", inverse: true, axisTick: { show: false }, axisLine: { show: false } };
    return {
      grid: { ...margins(settings, row), left: (settings.alone ? 20 : 0) + width(names), right: (settings.alone ? 20 : 0) + width(texts), outerBoundsMode: "none" },
      xAxis: {
        nameLocation: "middle",
        nameGap: 26,
        nameTextStyle: { color: theme.quiet, fontSize: 12 },
        axisLabel: { color: theme.quiet, fontSize: 12, hideOverlap: true, formatter: plain },
        splitLine: { lineStyle: { color: theme.rule } },
        axisLine: { show: false },
        axisTick: { show: false },
        splitNumber: settings.width < 480 ? 3 : 5,
        ...axis,
      },
      yAxis: [
        { ...category, data: names, axisLabel: { color: theme.ink, fontSize: size, interval: 0 } },
        { ...category, data: texts, position: "right", axisLabel: { color: theme.ink, fontSize: size, fontWeight: 600, interval: 0 } },
      ],
    };
  };

  // Whiskers of intervals; `pairs` holds low and high by lane. One that goes beyond `end` is cut there, with an arrow.
  const whiskers = (pairs, theme, offset, end = Infinity) => ({
    type: "custom",
    silent: true,
    clip: true,
    z: 4,
    data: pairs.map((pair, lane) => (pair ? [lane, pair[0], pair[1]] : [lane, NaN, NaN])),
    encode: { x: [1, 2], y: 0 },
    renderItem: (_, api) => {
      const low = api.coord([api.value(1), api.value(0)]);
      const beyond = api.value(2) > end;
      const high = api.coord([Math.min(api.value(2), end), api.value(0)]);
      if (!isFinite(low[0]) || !isFinite(high[0])) return null;
      const y = low[1] + offset;
      const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: theme.ink, lineWidth: 1.5 } });
      const last = beyond
        ? { type: "polygon", shape: { points: [[high[0], y], [high[0] - 7, y - 4], [high[0] - 7, y + 4]] }, style: { fill: theme.ink } }
        : line(high[0], y - 4, high[0], y + 4);
      return { type: "group", children: [line(low[0], y, high[0], y), line(low[0], y - 4, low[0], y + 4), last] };
    },
  });

  // Medians, a mark in each lane.
  const medians = (data, cells, value, offset, settings) => ({
    type: "scatter",
    symbol: "diamond",
    symbolSize: 13,
    symbolOffset: [0, offset],
    z: 6,
    data: cells.map((cell, at) => {
      const { slot } = data.contenders[cell.c];
      return { value: [value(cell), at], itemStyle: { color: color(slot, settings.theme), opacity: bold(slot) } };
    }),
  });

  const better = (row) => `${row.higher ? "more" : "less"} is better`;

  const axisOf = (values, settings, name) => {
    const positive = values.filter((value) => value > 0);
    if (settings.scale !== "log" || positive.length === 0) return { type: "value", min: 0, name };
    return { type: "log", name, min: 10 ** Math.floor(Math.log10(Math.min(...positive))), max: 10 ** Math.ceil(Math.log10(Math.max(...positive))) };
  };

  // The next number above that one likes to read at the end of an axis.
  const round = (value) => {
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value * (1 - 1e-9));
  };
  // How far beyond the samples an axis goes at most; what goes on is cut with an arrow.
  const BEYOND = 1.3;

  const figures = (data, row, settings) => {
    const theme = THEMES[settings.theme];
    const cells = chosen(data, row, settings);
    const scaled = (value) => value / row.unit.divisor;
    const log = settings.scale === "log";
    const texts = cells.map((cell) => `${MARKS[cell.standing]} ${cell.text}`.trim());
    const every = cells.flatMap((cell) => [cell.median, ...cell.samples, ...cell.aside]).map(scaled);
    const axis = axisOf(every, settings, `${row.unit.sign}, ${better(row)}`);
    const limit = settings.cut ? cutAt(cells, row, settings.cut) : Infinity;
    const most = Math.max(...every, row.device ? scaled(row.device) : 0);
    const beside = cells.flatMap((cell) => [...(cell.interval || []), ...(row.both && cell.returned ? [cell.returned] : [])]).map(scaled);
    // Neither one wide interval nor what a cache took in stretches the axis until nothing else can be seen.
    if (!log && most > 0 && Math.max(0, ...beside) > BEYOND * most) axis.max = round(BEYOND * most);
    const cut = cells.filter((cell) => scaled(cell.median) > limit);
    if (isFinite(limit) && cut.length > 0) {
      axis.max = limit;
      const named = cut.map((cell) => `${data.contenders[cell.c].name} ${cell.text}`).join(", ");
      axis.name = `${axis.name}; cut at ${plain(limit)}: ${named}`;
    }
    const offset = row.both ? -5 : 0;
    const dots = (which, hollow) =>
      cells.flatMap((cell, lane) =>
        cell[which].map((value, number) => ({
          value: [scaled(value), lane],
          symbolOffset: [0, offset + ((number * 5) % 9) - 4],
          itemStyle: hollow ? { color: "transparent", borderColor: theme.quiet, borderWidth: 1 } : { color: theme.ground, borderColor: theme.ink, borderWidth: 1 },
        })),
      );
    const series = [
      medians(data, cells, (cell) => Math.min(scaled(cell.median), limit), offset, settings),
      whiskers(cells.map((cell) => cell.interval && cell.interval.map(scaled)), theme, offset, axis.max),
      { type: "scatter", symbolSize: 3.5, silent: true, z: 5, clip: true, data: [...dots("samples", false), ...dots("aside", true)] },
    ];
    if (row.both) {
      // A tick and no bar: it is not what is judged, and may be the cache's. Beyond the axis it is an arrow at its end.
      const end = axis.max || Infinity;
      const tick = (cell, lane) => ({
        value: [Math.min(scaled(cell.returned), end), lane],
        symbol: scaled(cell.returned) > end ? "triangle" : "rect",
        symbolRotate: scaled(cell.returned) > end ? -90 : 0,
        symbolSize: scaled(cell.returned) > end ? [7, 7] : [3, 7],
        symbolOffset: [scaled(cell.returned) > end ? -5 : 0, 7],
        itemStyle: { color: "transparent", borderColor: color(data.contenders[cell.c].slot, settings.theme), borderWidth: 1.5 },
      });
      series.push({ type: "scatter", name: "until returned", silent: true, z: 5, clip: false, data: cells.flatMap((cell, lane) => (cell.returned ? [tick(cell, lane)] : [])) });
    }
    if (row.device) {
      series[0].markLine = {
        silent: true,
        symbol: "none",
        lineStyle: { color: theme.quiet, type: "dashed" },
        label: { formatter: "raw device", color: theme.quiet, fontSize: 12, position: "start", distance: 3 },
        data: [{ xAxis: scaled(row.device) }],
      };
    }
    const what = `${row.durable ? "until durable" : "until the last call returned"}${row.both ? " (ticks: until returned)" : ""}`;
    const option = frame(data, row, settings, what, row.unit.words, "; median, 95 % interval, every sample; ▲ best, = tie, ? can't tell yet");
    if (option.tooltip) {
      option.tooltip.formatter = (point) => {
        const cell = cells[point.value[1]];
        return cell ? told(data, row, cell) : "";
      };
    }
    return { ...option, ...lanes(data, row, cells, settings, texts, axis), series };
  };

  // What is said when a contender is pointed at.
  const told = (data, row, cell) => {
    const show = (value) => plain(value / row.unit.divisor);
    const lines = [`<b>${escaped(data.contenders[cell.c].name)}</b> ${escaped(cell.text)} ${escaped(row.unit.sign)}`];
    if (cell.interval) lines.push(`95 % interval ${show(cell.interval[0])} to ${show(cell.interval[1])}`);
    if (cell.returned_text) lines.push(`until returned ${escaped(cell.returned_text)}`);
    if (cell.ratio && cell.standing !== "best") lines.push(`${escaped(cell.ratio)} times the best`);
    lines.push(`${cell.samples.length} samples`, ...cell.notes.map(escaped));
    return lines.join("<br>");
  };

  // The cut, in shown units: so many times the median contender.
  const cutAt = (cells, row, times) => {
    const sorted = cells.map((cell) => cell.median / row.unit.divisor).sort((a, b) => a - b);
    return sorted.length === 0 ? Infinity : sorted[Math.floor((sorted.length - 1) / 2)] * times;
  };

  const cpu = (data, row, settings) => {
    const theme = THEMES[settings.theme];
    const cells = chosen(data, row, settings).filter((cell) => cell.cpu !== null);
    if (cells.length === 0) return null;
    const option = frame(data, row, settings, "CPU of the workers", "percent of one core");
    if (option.tooltip) option.tooltip.formatter = (point) => `<b>${escaped(data.contenders[cells[point.value[1]].c].name)}</b> ${plain(cells[point.value[1]].cpu)} %`;
    const series = [
      medians(data, cells, (cell) => cell.cpu, 0, settings),
      whiskers(cells.map((cell) => cell.cpu_interval), theme, 0),
    ];
    const texts = cells.map((cell) => `${plain(cell.cpu)} %`);
    return { ...option, ...lanes(data, row, cells, settings, texts, { type: "value", min: 0, name: "% of one core, less is better" }), series };
  };

  // Lines with a legend below; `lines` holds contender and points.
  const curves = (data, row, settings, what, unit, lines, xAxis, yAxis, value) => {
    const theme = THEMES[settings.theme];
    const quiet = { color: theme.quiet, fontSize: 12 };
    const option = frame(data, row, settings, what, unit);
    if (option.tooltip) {
      option.tooltip.trigger = "axis";
      option.tooltip.formatter = (points) =>
        [escaped(points[0].axisValueLabel || points[0].axisValue), ...points.map((point) => `${point.marker}${escaped(point.seriesName)} ${escaped(value(point.value[1]))}`)].join("<br>");
    }
    const common = { nameLocation: "middle", nameTextStyle: quiet, axisLine: { lineStyle: { color: theme.rule } }, axisTick: { show: false }, splitLine: { lineStyle: { color: theme.rule } } };
    const space = margins(settings);
    return {
      ...option,
      legend: { bottom: settings.alone ? 28 : 0, left: settings.alone ? 20 : 0, type: "plain", itemWidth: 18, itemHeight: 8, itemGap: 16, textStyle: { color: theme.ink, fontSize: 12 }, selectedMode: false, formatter: (name) => shortened(name, 26) },
      grid: { left: (settings.alone ? 20 : 0) + 66, right: settings.alone ? 40 : 18, top: space.top + 4, bottom: space.bottom + 26 + legendHeight(data, lines, settings), outerBoundsMode: "none" },
      xAxis: { ...common, nameGap: 26, ...xAxis, axisLabel: { ...quiet, hideOverlap: true, ...(xAxis.axisLabel || {}) } },
      yAxis: { ...common, nameGap: 50, ...yAxis, axisLabel: { ...quiet, hideOverlap: true, ...(yAxis.axisLabel || {}) } },
      series: lines.map(({ contender, points }) => ({
        type: "line",
        name: contender.name,
        data: points,
        symbol: shape(contender.slot),
        symbolSize: points.length > 40 ? 0 : 6,
        showSymbol: points.length <= 40,
        lineStyle: { width: 2, type: contender.slot % 12 >= 6 ? "dashed" : "solid" },
        itemStyle: { color: color(contender.slot, settings.theme) },
      })),
    };
  };

  const legendHeight = (data, lines, settings) => {
    const room = settings.width - 40;
    let used = 0;
    let rows = 1;
    for (const { contender } of lines) {
      const width = 40 + Math.min(contender.name.length, 26) * 7;
      if (used + width > room) {
        rows += 1;
        used = 0;
      }
      used += width;
    }
    return (rows - 1) * 20;
  };

  const latency = (data, row, settings) => {
    const names = ["50", "90", "99", "99.9", "99.99", "100"];
    const label = (p) => (p === "100" ? "longest" : `p${p}`);
    const lines = chosen(data, row, settings)
      .filter((cell) => cell.latency)
      .map((cell) => ({ contender: data.contenders[cell.c], points: cell.latency.percentiles.map(([p, ns]) => [label(String(p)), ns]) }));
    if (lines.length === 0) return null;
    const present = names.map(label).filter((name) => lines.some((line) => line.points.some(([p]) => p === name)));
    const xAxis = { type: "category", data: present, name: "percentile of all operations" };
    const yAxis = { type: "log", name: "latency, less is better", axisLabel: { formatter: duration } };
    return curves(data, row, settings, "latency of one operation", "time, logarithmic; less is better", lines, xAxis, yAxis, duration);
  };

  const time = (data, row, settings) => {
    const perSecond = row.unit.words.includes("second") && row.unit.sign.includes("/s") ? row.unit : { divisor: 1, sign: "/s", words: "operations a second" };
    const lines = chosen(data, row, settings)
      .filter((cell) => cell.series)
      .map((cell) => ({ contender: data.contenders[cell.c], points: cell.series.values.map((value, at) => [(at + 0.5) * cell.series.interval, value / perSecond.divisor]) }));
    if (lines.length === 0) return null;
    const xAxis = { type: "value", min: 0, name: "seconds since the start", axisLabel: { formatter: plain } };
    const yAxis = { type: "value", min: 0, name: `${perSecond.sign}, more is better`, axisLabel: { formatter: plain } };
    return curves(data, row, settings, "throughput over time, median of the trials", perSecond.words, lines, xAxis, yAxis, (value) => `${plain(value)} ${perSecond.sign}`);
  };

  // The longest call that returned in each interval, of all trials. An interval in which no call returned has no point.
  const stalls = (data, row, settings) => {
    const lines = chosen(data, row, settings)
      .filter((cell) => cell.series && cell.series.longest.some((ns) => ns > 0))
      .map((cell) => ({
        contender: data.contenders[cell.c],
        points: cell.series.longest.map((ns, at) => [(at + 0.5) * cell.series.interval, ns]).filter(([, ns]) => ns > 0),
      }));
    if (lines.length === 0) return null;
    const xAxis = { type: "value", min: 0, name: "seconds since the start", axisLabel: { formatter: plain } };
    const yAxis = { type: "log", name: "latency, less is better", axisLabel: { formatter: duration } };
    return curves(data, row, settings, "longest call in each interval, of all trials", "time, logarithmic; less is better", lines, xAxis, yAxis, duration);
  };

  // Whiskers that stand upright; `pairs` holds place on the x axis, low, high, and the place of the line, which has a colour and an offset.
  // One that goes beyond `end` is cut there, with an arrow.
  const uprights = (pairs, colors, offset, end = Infinity) => ({
    type: "custom",
    silent: true,
    clip: false,
    z: 5,
    data: pairs,
    encode: { x: 0, y: [1, 2] },
    renderItem: (_, api) => {
      const low = api.coord([api.value(0), api.value(1)]);
      const beyond = api.value(2) > end;
      const high = api.coord([api.value(0), Math.min(api.value(2), end)]);
      if (!isFinite(low[1]) || !isFinite(high[1])) return null;
      const x = low[0] + offset(api.value(3));
      const ink = colors[api.value(3)];
      const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: ink, lineWidth: 1.5 } });
      const last = beyond
        ? { type: "polygon", shape: { points: [[x, high[1]], [x - 4, high[1] + 7], [x + 4, high[1] + 7]] }, style: { fill: ink } }
        : line(x - 4, high[1], x + 4, high[1]);
      return { type: "group", children: [line(x, low[1], x, high[1]), line(x - 4, low[1], x + 4, low[1]), last] };
    },
  });

  // Figures over what was varied: lines where the values have an order, marks side by side where they have none.
  // `lines` holds for each its name, its place in the palette and a cell or nothing for each value.
  const over = (data, head, settings, axis, all) => {
    const lines = all.filter((line) => line.points.some(Boolean));
    if (axis.values.filter((_, at) => lines.some((line) => line.points[at])).length < 2) return null;
    const theme = THEMES[settings.theme];
    const scaled = (value) => value / head.unit.divisor;
    const step = Math.min(12, (0.8 * (settings.width - 120)) / (axis.values.length * lines.length));
    const offset = (place) => (axis.ordered ? 0 : (place - (lines.length - 1) / 2) * step);
    const x = (at) => (axis.positions ? axis.positions[at] : at);
    const present = (line) => line.points.flatMap((cell, at) => (cell ? [[at, cell]] : []));
    const every = lines.flatMap((line) => present(line).flatMap(([, cell]) => [cell.median, ...(cell.interval || [])])).map(scaled);
    const colors = lines.map((line) => color(line.slot, settings.theme));
    const series = lines.map((line, place) => ({
      type: "line",
      name: line.name,
      data: present(line).map(([at, cell]) => [x(at), scaled(cell.median)]),
      symbol: shape(line.slot),
      symbolSize: 8,
      symbolOffset: [offset(place), 0],
      lineStyle: { width: axis.ordered ? 2 : 0, type: line.slot % 12 >= 6 ? "dashed" : "solid" },
      itemStyle: { color: colors[place] },
    }));
    const pairs = lines.flatMap((line, place) => present(line).filter(([, cell]) => cell.interval).map(([at, cell]) => [x(at), scaled(cell.interval[0]), scaled(cell.interval[1]), place]));
    const yAxis = axisOf(every, settings, `${head.unit.sign}, ${better(head)}`);
    // Of ratios no wide interval stretches the axis, and a line shows the first value, against which all stand.
    if (head.base) {
      const most = BEYOND * Math.max(head.base, ...lines.flatMap((line) => present(line).map(([, cell]) => cell.median)));
      if (yAxis.type === "value" && Math.max(...every) > most) yAxis.max = round(most);
      series[0].markLine = { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: theme.quiet, type: "dashed" }, data: [{ yAxis: head.base }] };
    }
    series.push(uprights(pairs, colors, offset, yAxis.max));
    const what = `by ${axis.name}; ${head.durable ? "until durable" : "until the last call returned"}`;
    const option = frame(data, head, settings, what, head.unit.words, "; median, 95 % interval");
    if (option.tooltip) {
      option.tooltip.trigger = "axis";
      option.tooltip.formatter = (points) => {
        const at = axis.positions ? axis.positions.indexOf(points[0].value[0]) : points[0].dataIndex;
        const value = !axis.positions ? points[0].axisValue : axis.values[at];
        const told = lines.flatMap((line) => {
          const cell = line.points[axis.values.indexOf(String(value))];
          return cell ? [`${escaped(line.name)} <b>${escaped(cell.text)}</b> ${escaped(head.unit.sign)}${cell.interval ? ` (${plain(scaled(cell.interval[0]))} to ${plain(scaled(cell.interval[1]))})` : ""}`] : [];
        });
        return [`${escaped(axis.name)} ${escaped(value)}`, ...told].join("<br>");
      };
    }
    const quiet = { color: theme.quiet, fontSize: 12 };
    const common = { nameLocation: "middle", nameTextStyle: quiet, axisLine: { lineStyle: { color: theme.rule } }, axisTick: { show: false }, splitLine: { lineStyle: { color: theme.rule } } };
    const xAxis = axis.positions
      ? { type: "value", min: Math.min(0, ...axis.positions), max: axis.unit === "%" ? 100 : undefined, axisLabel: { ...quiet, formatter: (value) => `${plain(value)}${axis.unit || ""}` } }
      : { type: "category", data: axis.values, axisLabel: { ...quiet, color: theme.ink, hideOverlap: true } };
    const space = margins(settings);
    return {
      ...option,
      legend: { bottom: settings.alone ? 28 : 0, left: settings.alone ? 20 : 0, type: "plain", itemWidth: 18, itemHeight: 8, itemGap: 16, textStyle: { color: theme.ink, fontSize: 12 }, selectedMode: false, data: lines.map((line) => line.name), formatter: (name) => shortened(name, 26) },
      grid: { left: (settings.alone ? 20 : 0) + 66, right: settings.alone ? 40 : 18, top: space.top + 4, bottom: space.bottom + 26 + legendHeight(data, lines.map((line) => ({ contender: line })), settings), outerBoundsMode: "none" },
      xAxis: { ...common, name: axis.name, nameGap: 26, splitNumber: settings.width < 480 ? 3 : 5, ...xAxis },
      yAxis: { ...common, nameGap: 50, ...yAxis, axisLabel: { ...quiet, formatter: plain } },
      series,
    };
  };

  const axisLines = (row, axis, settings) =>
    axis.groups.map((group) => ({
      name: group.name,
      slot: group.slot,
      points: group.members.map((member) => (member === null || (settings.hidden || []).includes(member) ? null : row.cells.find((cell) => cell.c === member) || null)),
    }));

  const byAxis = (data, row, settings, number) => {
    const axis = data.axes[number];
    return over(data, row, settings, { ...axis, unit: axis.values.every((value) => value.endsWith("%")) ? "%" : "" }, axisLines(row, axis, settings));
  };

  const scalingLines = (data, scaling, settings) =>
    data.contenders.map((contender, number) => ({
      name: contender.name,
      slot: contender.slot,
      points: scaling.rows.map((row) => ((settings.hidden || []).includes(number) ? null : data.rows[row].cells.find((cell) => cell.c === number) || null)),
    }));

  const scaling = (data, scaling, settings) => {
    const { durable, higher } = data.rows[scaling.rows[0]];
    const axis = { name: scaling.setting, values: scaling.values, ordered: true, positions: null };
    // Each value's own table may show another unit; here all stand on one scale, so their texts are made anew.
    const lines = scalingLines(data, scaling, settings).map((line) => ({ ...line, points: line.points.map((cell) => cell && { ...cell, text: plain(cell.median / scaling.unit.divisor) }) }));
    return over(data, { ...scaling, durable, higher }, settings, axis, lines);
  };

  // How many times as long as with the first value: one line for each group of the axis.
  const course = (data, course, settings) => {
    const full = data.axes[course.axis];
    const unit = { divisor: 1, sign: "×", words: course.words };
    // Small charts have no room to say of each value what all of them begin with.
    const family = full.values[0].split(":")[0];
    const shared = full.values.every((value) => value.startsWith(`${family}:`));
    const axis = shared ? { ...full, name: `${full.name} (${family})`, values: full.values.map((value) => value.slice(family.length + 1)) } : full;
    const shown = (member) => member !== null && !(settings.hidden || []).includes(member);
    const lines = axis.groups.map((group, at) => ({ name: group.name, slot: group.slot, points: axis.values.map((_, value) => (shown(group.members[value]) && (course.lines[at] || [])[value]) || null) }));
    return over(data, { ...course, unit, base: 1, higher: false }, settings, axis, lines);
  };

  const KINDS = { figures, latency, time, stalls, cpu, scaling, course };

  const height = (data, row, kind, settings) => {
    const space = margins(settings, row);
    if (kind === "figures" || kind === "cpu") return space.top + space.bottom + Math.max(1, chosen(data, row, settings).length) * laneHeight(row);
    const lines = kind.startsWith("axis:") || kind === "course"
      ? data.axes[kind === "course" ? row.axis : Number(kind.slice(5))].groups
      : (kind === "scaling" ? data.rows[row.rows[0]] : row).cells.map((cell) => data.contenders[cell.c]);
    return (settings.alone ? 430 : kind === "course" ? 250 : 290) + legendHeight(data, lines.map((contender) => ({ contender })), settings);
  };

  const option = (data, row, kind, settings) => (kind.startsWith("axis:") ? byAxis(data, row, settings, Number(kind.slice(5))) : KINDS[kind](data, row, settings));

  // A picture that stands alone; nothing where there is nothing to show.
  const svg = (data, index, kind, width) => {
    const row = (kind === "scaling" ? data.scalings : kind === "course" ? data.courses : data.rows)[index];
    const settings = { theme: "light", alone: true, width, scale: "linear" };
    const made = !row.cells || row.cells.length > 0 ? option(data, row, kind, settings) : null;
    if (!made) return null;
    const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width, height: height(data, row, kind, settings) });
    chart.setOption(made);
    const text = chart.renderToSVGString();
    chart.dispose();
    return text;
  };

  return { option, height, svg, color, plain, duration };
})();
