"use strict";
// The gallery's program. In: the data beside it. Out: lists that follow the filters; text of entries is only ever put in as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const RELATIONS = ["best", "worse", "likely worse", "as good", "can't tell yet", "too few samples"];
  const OUTCOMES = ["holds", "reversed", "no difference shown"];
  const SHOWN = 100;
  const FILTERS = [
    ["disk", "Disk", data.disks, (entry) => [entry.disk]],
    ["kernel", "Kernel", data.kernels, (entry) => entry.kernels],
    ["fs", "Filesystem", data.filesystems, (entry) => entry.filesystems],
    ["work", "Workload", [...new Set(data.works.map((work) => work.name))], (entry) => workNames(entry)],
  ];
  const state = { disk: -1, kernel: -1, fs: -1, work: -1, line: -1, against: -1, all: false };

  // Makes an element; what is not an element is text.
  const make = (name, attributes, ...inner) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
    }
    made.append(...inner.flat().filter((part) => part !== null && part !== undefined));
    return made;
  };
  const fill = (id, ...inner) => document.getElementById(id).replaceChildren(...inner.flat());
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const times = (value) => (value >= 99.5 ? value.toFixed(0) : value >= 9.95 ? value.toFixed(1) : value.toFixed(2));
  const range = (low, high) => `${times(low)} to ${times(high)}`;
  // What was measured on no real disk is pooled by itself.
  const apart = (entry) => data.disks[entry.disk] === "memory" || data.disks[entry.disk].startsWith("modelled ");
  const ledger = (entry) => `ledgers/${entry.id}.json.gz`;
  const names = FILTERS[3][2];
  const workOf = data.works.map((work) => names.indexOf(work.name));
  const workNames = (entry) => entry.works.map((work) => workOf[work]);
  // Where the ranks of a line stand in an entry.
  const ranked = new Map(data.entries.map((entry) => [entry, new Map(entry.ranks.map((rank) => [rank[0], rank]))]));
  const ranksOf = (entry, line) => {
    const rank = ranked.get(entry).get(line);
    const found = [];
    for (let at = 1; rank && at + 2 < rank.length; at += 3) found.push([rank[at], rank[at + 1] / 100, rank[at + 2]]);
    return found;
  };

  const passes = (entry, but) => FILTERS.every(([key, , , of]) => key === but || state[key] < 0 || of(entry).includes(state[key]));
  const passing = () => data.entries.filter((entry) => passes(entry, null));

  const read = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const [key, , known] of FILTERS) state[key] = asked.has(key) ? known.indexOf(asked.get(key)) : -1;
  };
  const write = () => {
    const asked = new URLSearchParams();
    for (const [key, , known] of FILTERS) if (state[key] >= 0) asked.set(key, known[state[key]]);
    history.replaceState(null, "", `#${asked}`);
  };

  const filters = () => {
    const rows = FILTERS.map(([key, title, known, of]) => {
      const counts = known.map(() => 0);
      for (const entry of data.entries) if (passes(entry, key)) new Set(of(entry)).forEach((at) => (counts[at] += 1));
      const button = (at, text, count) => make("button", {
        type: "button", "aria-pressed": String(state[key] === at), "data-filter": `${key}=${at < 0 ? "all" : known[at]}`,
        disabled: count === 0 && state[key] !== at ? "" : null,
        onclick: () => { state[key] = at; state.all = false; write(); draw(); document.querySelector(`[data-filter="${CSS.escape(`${key}=${at < 0 ? "all" : known[at]}`)}"]`)?.focus(); },
      }, text);
      const all = known.map((name, at) => button(at, `${name} (${counts[at]})`, counts[at]));
      return [make("span", { id: `filter-${key}` }, title), make("div", { class: "set", role: "group", "aria-labelledby": `filter-${key}` }, button(-1, "All", 1), ...all)];
    });
    fill("filters", ...rows);
  };

  // Ratios: the lines and contenders that a choice can be made among follow from the pools that fit the filters.
  const pooledNow = () => {
    const kernels = data.pools.some((pool) => pool[0] === state.disk && pool[1] === state.kernel) ? state.kernel : -1;
    const fit = data.pools.filter((pool) => pool[0] === state.disk && pool[1] === kernels
      && (state.work < 0 || workOf[data.lines[pool[2]].work] === state.work));
    return [fit, kernels];
  };
  const option = (at, text, chosen) => make("option", { value: at, selected: at === chosen ? "" : null }, text);
  const workTitle = (work) => {
    const of = [work.scale, work.settings].filter((part) => part).join(", ");
    return `${work.title}${of ? ` (${of})` : ""}`;
  };
  const lineTitle = (line) => `${workTitle(data.works[line.work])}: ${line.title}`;
  const most = (counts) => [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([at]) => at);
  const choose = (fit) => {
    const weight = new Map();
    for (const pool of fit) weight.set(pool[2], (weight.get(pool[2]) || 0) + pool[6]);
    const lines = [...weight.keys()].sort((a, b) => a - b);
    if (!lines.includes(state.line)) {
      const sums = new Map([...weight].filter(([at]) => data.lines[at].sum));
      state.line = most(sums.size ? sums : weight)[0] ?? -1;
    }
    const own = fit.filter((pool) => pool[2] === state.line);
    const counts = new Map();
    for (const pool of own) for (const at of [pool[3], pool[4]]) counts.set(at, (counts.get(at) || 0) + pool[6]);
    const named = state.fs >= 0 ? data.contenders.indexOf(data.filesystems[state.fs]) : -1;
    if (!counts.has(state.against)) {
      const usual = data.contenders.indexOf("ext4");
      const first = most(counts)[0] ?? -1;
      state.against = counts.has(named) ? named : counts.get(usual) === counts.get(first) ? usual : first;
    }
    return [lines, own, [...counts.keys()].sort((a, b) => a - b)];
  };
  const picture = (low, mark, high, next, least, largest) => {
    const place = (value) => (100 * (Math.log(Math.min(Math.max(value, least), largest)) - Math.log(least))) / (Math.log(largest) - Math.log(least));
    const bar = (kind, from, to) => make("i", { class: kind, style: `left:${place(from)}%;width:${Math.max(place(to) - place(from), 0.5)}%` });
    const words = next ? `, a further machine ${range(next[0], next[1])}` : "";
    return make("div", { class: "picture", role: "img", "aria-label": `${times(mark)} times, ${range(low, high)}${words}` },
      next ? bar("next", next[0], next[1]) : null, bar("span", low, high),
      make("i", { class: "one", style: `left:${place(1)}%` }), make("i", { class: "mark", style: `left:${place(mark)}%` }));
  };
  const against = (pool) => {
    const [ratio, low, high, nextLow, nextHigh] = pool[5];
    const is = pool[3] === state.against;
    const turn = (value) => (is ? value : 1 / value);
    const pair = (a, b) => (is ? [a, b] : [turn(b), turn(a)]);
    return { contender: is ? pool[4] : pool[3], ratio: turn(ratio), span: pair(low, high), next: nextLow === undefined ? null : pair(nextLow, nextHigh), runs: pool[6], machines: pool[7] };
  };
  const restsOn = (contender, kernels) => {
    const rests = data.entries.filter((entry) => (state.disk < 0 ? !apart(entry) : entry.disk === state.disk) && (kernels < 0 || entry.kernels.includes(kernels))
      && [contender, state.against].every((one) => ranksOf(entry, state.line).some(([at]) => at === one)));
    const row = (entry) => {
      const of = (one) => ranksOf(entry, state.line).find(([at]) => at === one)[1];
      return make("tr", null, make("td", null, make("a", { href: ledger(entry), download: "" }, entry.id)), make("td", null, entry.day), make("td", null, data.disks[entry.disk]),
        make("td", { class: "n" }, `${times(of(contender) / of(state.against))}x`));
    };
    return make("div", { class: "inner scroll" }, make("table", null, make("thead", null, make("tr", null, ["Database", "Day", "Disk"].map((head) => make("th", null, head)), make("th", { class: "n" }, "Here"))), make("tbody", null, rests.map(row))));
  };
  const below = (row, columns, inner) => {
    const open = row.nextElementSibling?.classList.contains("below");
    row.parentNode.querySelectorAll("tr.below").forEach((old) => old.remove());
    row.parentNode.querySelectorAll("[aria-expanded]").forEach((button) => button.setAttribute("aria-expanded", "false"));
    if (open) return;
    row.querySelector("[aria-expanded]")?.setAttribute("aria-expanded", "true");
    row.after(make("tr", { class: "below" }, make("td", { colspan: columns }, inner())));
  };
  const opener = (text, columns, inner) => make("button", { class: "open", type: "button", "aria-expanded": "false", onclick: (event) => below(event.target.closest("tr"), columns, inner) }, text);

  // Work by contender: whole workloads where they have a sum, else their lines; each figure against the same contender.
  const matrix = (fit, lines) => {
    const shown = [...new Set(lines.map((line) => data.lines[line].work))].flatMap((work) => {
      const own = lines.filter((line) => data.lines[line].work === work);
      const sums = own.filter((line) => data.lines[line].sum);
      return sums.length ? sums : own;
    });
    const held = fit.filter((pool) => pool[3] === state.against || pool[4] === state.against).map((pool) => [pool[2], against(pool)]);
    const found = new Map(held.map(([line, one]) => [`${line} ${one.contender}`, one]));
    const weight = new Map();
    for (const [, one] of held) weight.set(one.contender, (weight.get(one.contender) || 0) + one.runs);
    const columns = [state.against, ...most(weight)];
    const cell = (line, contender) => {
      const one = found.get(`${line} ${contender}`);
      if (contender === state.against) return make("td", { class: "n quiet" }, "1");
      if (!one) return make("td", { class: "n quiet" }, "-");
      const sure = one.span[0] > 1 ? "far" : one.span[1] < 1 ? "good" : null;
      const words = `${range(...one.span)} with 95 %; ${plural(one.runs, "run")}, ${plural(one.machines, "machine")}`;
      return make("td", { class: "n", title: words }, make("span", { class: sure }, `${times(one.ratio)}${sure ? "" : " ?"}`));
    };
    const pickLine = (line) => make("button", { type: "button", class: "open", onclick: () => { state.line = line; ratios(); document.getElementById("line").focus(); } }, lineTitle(data.lines[line]));
    const row = (line) => make("tr", null, make("td", null, pickLine(line)), columns.map((at) => cell(line, at)));
    const machines = new Set(held.map(([, one]) => one.machines));
    const from = machines.size === 1 && machines.has(1) ? " All of it was measured on one machine; another may differ." : "";
    fill("matrix", make("p", { class: "quiet" }, `Time of each work, as a multiple of ${data.contenders[state.against]}'s: below 1 is faster. ? marks a 95 % interval that includes 1.${from}`),
      make("div", { class: "scroll" }, make("table", null,
        make("thead", null, make("tr", null, make("th", null, "Work"), columns.map((at) => make("th", { class: "n" }, data.contenders[at])))),
        make("tbody", null, shown.filter((line) => columns.some((at) => found.has(`${line} ${at}`))).map(row)))));
  };

  const ratios = () => {
    const [fit, kernels] = pooledNow();
    const [lines, own, contenders] = choose(fit);
    document.getElementById("detail").hidden = !own.length;
    if (!own.length) {
      fill("choices");
      return fill("matrix", make("p", { class: "quiet" }, data.entries.some(apart) && state.disk < 0 ? "No two contenders were compared in these runs on a real disk. Runs in memory and on modelled disks are pooled separately: choose one above." : "No two contenders were compared in these runs."));
    }
    const pick = (id, title, key, options) => make("label", null, title, make("select", { id, onchange: (event) => { state[key] = Number(event.target.value); ratios(); document.getElementById(id).focus(); } }, options));
    fill("choices", pick("against", "Compare with", "against", contenders.map((at) => option(at, data.contenders[at], state.against))));
    fill("work", pick("line", "Work", "line", lines.map((at) => option(at, lineTitle(data.lines[at]), state.line))));
    matrix(fit, lines);
    const rows = own.filter((pool) => pool[3] === state.against || pool[4] === state.against).map(against).sort((a, b) => a.ratio - b.ratio);
    const ends = rows.flatMap((row) => [row.ratio, ...row.span]).filter((value) => value > 0.05 && value < 20).concat([0.8, 1.25]);
    const [least, largest] = [Math.min(...ends) / 1.05, Math.max(...ends) * 1.05];
    const row = (one) => make("tr", null,
      make("td", { class: "name" }, data.contenders[one.contender]),
      make("td", { class: "n", "data-head": "Takes" }, make("span", { class: one.span[0] > 1 ? "far" : one.span[1] < 1 ? "good" : null }, `${times(one.ratio)}x`)),
      make("td", { class: "n", "data-head": "95 %" }, range(...one.span)),
      make("td", { class: "n", "data-head": "Your machine" }, one.next ? range(...one.next) : "needs 3 machines"),
      make("td", { class: "wide" }, picture(one.span[0], one.ratio, one.span[1], one.next, least, largest)),
      make("td", { "data-head": "Measured in" }, opener(`${plural(one.runs, "run")}, ${plural(one.machines, "machine")}`, 6, () => restsOn(one.contender, kernels))));
    const heads = ["Contender", "Takes", "95 %", "Your machine", "", "Measured in"];
    const several = rows.some((one) => one.machines > 1);
    const note = [`Time as a multiple of ${data.contenders[state.against]}'s: below 1 is faster. `,
      several ? "Dark bar: 95 % interval of a typical machine. " : "Dark bar: 95 % interval on this one machine. ",
      rows.some((one) => one.next) ? "Pale bar: 95 % range for a further machine such as yours. " : "",
      state.disk < 0 && data.entries.some(apart) ? "Runs in memory and on modelled disks are pooled separately: choose them above. " : "",
      kernels !== state.kernel ? "Over all kernels, because there are too few of these runs. " : "", state.fs >= 0 ? "Over all runs, whatever other filesystems were in them. " : "",
      data.cut ? "The page contains only the ratios of the most common lines. " : ""];
    fill("pooled", make("p", { class: "quiet" }, note.join("")),
      make("table", { class: "cards" }, make("thead", null, make("tr", null, heads.map((head, at) => make("th", { class: at > 0 && at < 4 ? "n" : null }, head)))), make("tbody", null, rows.map(row))));
  };

  const figures = (entry) => {
    let work = -1;
    const columns = [...new Set(entry.ranks.flatMap((rank) => ranksOf(entry, rank[0]).map(([at]) => at)))];
    const cell = (found) => (found ? make("td", { class: "n" }, make("span", { class: found[2] === 0 || found[2] === 3 ? "good" : found[2] === 1 ? "far" : null, title: RELATIONS[found[2]] }, found[2] === 0 ? "best" : `${times(found[1])}x${found[2] > 3 ? " ?" : ""}`)) : make("td", { class: "n" }, "-"));
    const row = (rank) => {
      const found = ranksOf(entry, rank[0]);
      const line = data.lines[rank[0]];
      const row = make("tr", null, make("td", null, line.sum ? make("b", null, line.title) : line.title), columns.map((at) => cell(found.find(([one]) => one === at))));
      if (line.work === work) return row;
      work = line.work;
      return [make("tr", null, make("th", { colspan: columns.length + 1 }, workTitle(data.works[work]))), row];
    };
    return make("div", { class: "inner scroll" },
      make("p", null, `${entry.machine}. Times slower than the best of this run; ? can't tell from the best. Each figure follows from the `, make("a", { href: ledger(entry), download: "" }, "database"), "."),
      make("table", null, make("thead", null, make("tr", null, make("th", null, "Work"), columns.map((at) => make("th", { class: "n" }, data.contenders[at])))), make("tbody", null, entry.ranks.flatMap(row))));
  };
  const runs = (shown) => {
    const list = state.all ? shown : shown.slice(0, SHOWN);
    const row = (entry) => make("tr", { "data-run": entry.id },
      make("td", null, opener(entry.day, 7, () => figures(entry))),
      make("td", { "data-head": "Disk" }, data.disks[entry.disk], entry.model ? make("small", null, ` ${entry.model}`) : null),
      make("td", { "data-head": "Kernel" }, entry.kernels.map((at) => data.kernels[at]).join(", ")),
      make("td", { "data-head": "Filesystems" }, entry.filesystems.map((at) => data.filesystems[at]).join(", ")),
      make("td", { "data-head": "Work" }, workNames(entry).map((at) => names[at]).filter((name, at, all) => all.indexOf(name) === at).join(", ")),
      make("td", { "data-head": "Answer" }, entry.answer, " ", make("small", null, entry.certainty)),
      make("td", null, make("a", { href: ledger(entry), download: "" }, "database")));
    const more = shown.length > list.length ? make("button", { class: "more", type: "button", onclick: () => { state.all = true; runs(shown); } }, `Show all ${shown.length} runs`) : null;
    const heads = ["Day", "Disk", "Kernel", "Filesystems", "Work", "Answer", ""];
    const table = make("table", { class: "cards" }, make("thead", null, make("tr", null, heads.map((head) => make("th", null, head)))), make("tbody", null, list.map(row)));
    fill("runs", shown.length ? [table, more].filter((part) => part) : make("p", { class: "quiet" }, "No run fits these filters."));
  };

  const scored = (shown) => {
    const known = new Set(shown.map((entry) => data.entries.indexOf(entry)));
    return data.claims.map((claim) => [claim, claim.tested.filter(([at]) => known.has(at))]);
  };
  const count = (tested, wanted) => tested.filter(([, outcome]) => outcome === wanted).length;
  const score = (tested) => `holds on ${count(tested, 0)} of ${tested.length}`;
  const claims = (shown) => {
    const all = scored(shown).sort((a, b) => b[1].length - a[1].length);
    const row = ([claim, tested]) => {
      const source = claim.source === null ? "" : `${data.sources[claim.source].title}, ${data.sources[claim.source].year}`;
      const inner = () => make("div", { class: "inner scroll" }, make("table", null, make("tbody", null, tested.map(([at, outcome]) => make("tr", null,
        make("td", null, make("a", { href: ledger(data.entries[at]), download: "" }, data.entries[at].id)), make("td", null, data.disks[data.entries[at].disk]), make("td", null, OUTCOMES[outcome]))))));
      return make("tr", { "data-claim": claim.id }, make("td", null, claim.text, make("br"), make("small", null, [source, claim.device].filter((part) => part).join("; "))),
        make("td", { class: "n" }, tested.length ? opener(score(tested), 2, inner) : make("small", null, "not tested yet"),
          count(tested, 1) ? [make("br"), make("small", { class: "far" }, `reversed on ${count(tested, 1)}`)] : null));
    };
    const tested = all.filter(([, list]) => list.length);
    const untested = all.filter(([, list]) => !list.length);
    const table = (list) => make("table", null, make("thead", null, make("tr", null, make("th", null, "Claim"), make("th", { class: "n" }, "On these runs"))), make("tbody", null, list.map(row)));
    fill("claims", tested.length ? table(tested) : make("p", { class: "quiet" }, "No claim could be tested on these runs."),
      untested.length ? make("details", null, make("summary", null, `${plural(untested.length, "claim")} that no run here could test`), table(untested)) : []);
  };

  const sources = () => {
    const all = scored(data.entries);
    const table = (heads, rows) => make("div", { class: "scroll" }, make("table", null,
      make("thead", null, make("tr", null, heads.map((head) => make("th", null, head)))), make("tbody", null, rows.map((cells) => make("tr", null, cells.map((text) => make("td", null, text)))))));
    const one = (source, number) => {
      const own = all.filter(([claim]) => claim.source === number);
      const parts = [source.figures.length ? plural(source.figures.length, "figure") : null, own.length ? plural(own.length, "claim") : null];
      const details = make("details", { "data-year": source.year }, make("summary", null, make("b", null, source.year), ` ${source.title} `, make("small", null, parts.filter((part) => part).join(", "))));
      details.addEventListener("toggle", () => {
        if (details.children.length > 1) return;
        details.append(make("p", null, source.hardware));
        if (own.length) details.append(table(["Claim", "On all runs here"], own.map(([claim, tested]) => [claim.text, tested.length ? score(tested) : "not tested yet"])));
        if (source.figures.length) details.append(table(["Work", "Operation", "Filesystem", "Published"], source.figures));
      });
      return details;
    };
    fill("sources", make("p", { class: "quiet" }, "Results published by others, in other years and on other machines; no ratio above includes them."), data.sources.map(one));
  };

  const refusals = () => {
    document.getElementById("refusals").hidden = !data.refused.length;
    fill("refused", make("ul", null, data.refused.map(([which, why]) => make("li", null, make("b", null, which), `: ${why}`))));
  };

  const draw = () => {
    const shown = passing();
    filters();
    document.getElementById("chosen").textContent = `${shown.length} of ${plural(data.entries.length, "run")} chosen.`;
    ratios();
    runs(shown);
    claims(shown);
  };
  addEventListener("hashchange", () => { read(); draw(); });
  read();
  draw();
  sources();
  refusals();
})();
