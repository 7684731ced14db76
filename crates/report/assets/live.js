// The page of a run that is under way: takes news as they come, and draws them. Texts are set as text, never as HTML.
'use strict';
(function () {
  const SVG = 'http://www.w3.org/2000/svg';
  const at = (id) => document.getElementById(id);
  const body = document.body;
  let elapsed = null, heard = null, end = null, place = null, count = 0, over = false, ranked = false;

  const set = (id, text) => { at(id).textContent = text; };
  // A picture has no property of that name.
  const show = (id, there) => { at(id).toggleAttribute('hidden', !there); };

  function make(name, attributes, ...inner) {
    const svg = ['svg', 'g', 'line', 'path', 'circle', 'rect', 'text'].includes(name);
    const element = svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...inner);
    return element;
  }

  function clock(seconds) {
    const whole = Math.max(0, Math.round(seconds));
    const two = (n) => String(n).padStart(2, '0');
    const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    return h ? h + ':' + two(m) + ':' + two(s) : m + ':' + two(s);
  }

  function bytes(value) {
    const units = ['B', 'kB', 'MB', 'GB', 'TB'];
    let unit = 0;
    while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
    return (value >= 100 || unit === 0 ? value.toFixed(0) : value.toPrecision(2)) + ' ' + units[unit];
  }

  function span(ns) {
    const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
    const [divisor, sign] = units.find(([least]) => ns >= least) || units[3];
    return Number((ns / divisor).toPrecision(2)) + ' ' + sign;
  }

  // Where the run is, and when it may end.

  function times() {
    if (!place) return;
    const gone = elapsed === null ? null : elapsed + (performance.now() - heard) / 1000;
    const parts = [place.done + ' of ' + place.of + ' trials'];
    if (gone !== null) parts.push(clock(gone) + ' gone');
    if (end !== null && place.done < place.of) parts.push('about ' + clock((end - performance.now()) / 1000) + ' left');
    set('times', parts.join(' · '));
  }

  function onPlace(news) {
    if (place === null) body.dataset.opened = news.done;
    body.dataset.done = news.done;
    place = news;
    end = news.left_s === null ? null : performance.now() + 1000 * news.left_s;
    at('trials').max = Math.max(1, news.of);
    at('trials').value = news.done;
    if (!ranked && !over && news.done > 0) set('ahead', news.done + (news.done === 1 ? ' trial' : ' trials') + ' measured; contenders are compared after the first round');
    set('now', news.contender ? 'Round ' + news.block + ': ' + news.workload + ' on ' + news.contender : '–');
    times();
  }

  function onStep(news) {
    set('step', news.text);
    show('phase', news.phase);
    at('phase').removeAttribute('value');
  }

  function onProgress(news) {
    const text = at('step').textContent.split(' · ')[0];
    const parts = [text];
    if (news.of) {
      at('phase').max = news.of;
      at('phase').value = news.items;
      parts.push(Math.round(100 * news.items / news.of) + ' %');
    } else {
      parts.push(news.items + ' done');
    }
    if (news.bytes) parts.push(bytes(news.bytes));
    set('step', parts.join(' · '));
  }

  // Who is ahead: a line a contender, on one logarithmic scale for all operations.

  // No card is narrower, so that letters keep their size.
  const WIDTH = 330, LEFT = 104, RIGHT = 62;

  function scale(operations) {
    let low = 0.9, high = 1.5;
    for (const operation of operations) {
      for (const member of operation.members) {
        const last = member.intervals[member.intervals.length - 1];
        low = Math.min(low, last ? last[0] : member.ratio);
        high = Math.max(high, last ? last[1] : member.ratio);
      }
    }
    low = Math.max(low, 0.5);
    high = Math.min(Math.max(high, 2), 8);
    return (value) => {
      const share = Math.log(value / low) / Math.log(high / low);
      return LEFT + (WIDTH - LEFT - RIGHT) * Math.min(1, Math.max(0, share));
    };
  }

  // Names of contenders differ at their end where they are paths, and at their beginning elsewhere.
  function short(name) {
    if (name.length <= 13) return name;
    return name.startsWith('/') ? '…' + name.slice(-12) : name.slice(0, 12) + '…';
  }

  function drawn(member, x, y) {
    const group = make('g', { class: member.stands });
    const name = make('text', { x: 0, y: y + 4, class: 'name' }, short(member.name));
    name.append(make('title', {}, member.name));
    group.append(name);
    const past = member.intervals.slice(-6);
    past.forEach((interval, number) => {
      if (!interval) return;
      const now = number === past.length - 1;
      const height = y - 3 * (past.length - 1 - number);
      const line = make('line', { x1: x(interval[0]), x2: Math.max(x(interval[0]) + 1, x(interval[1])), y1: height, y2: height, class: now ? 'interval' : 'past' });
      group.append(line);
    });
    const there = x(member.ratio);
    const beyond = there >= WIDTH - RIGHT;
    group.append(beyond ? make('path', { d: 'M' + (there - 5) + ' ' + (y - 4) + 'l5 4l-5 4', class: 'arrow' }) : make('circle', { cx: there, cy: y, r: 4, class: 'mark' }));
    const value = member.figure || (member.ratio >= 10 ? member.ratio.toFixed(0) : member.ratio.toFixed(2)) + 'x';
    group.append(make('text', { x: WIDTH, y: y + 4, class: 'value', 'text-anchor': 'end' }, value));
    return group;
  }

  const WORDS = { won: 'best, beyond doubt', best: 'ahead, not proven', tie: 'as good as the best', open: "can't tell yet", likely: 'likely slower', worse: 'slower' };

  function card(operation, x) {
    const past = Math.max(...operation.members.map((member) => Math.min(6, member.intervals.length)), 1);
    const step = 17 + 3 * (past - 1);
    const height = step * operation.members.length + 20;
    const picture = make('svg', { viewBox: '0 0 ' + WIDTH + ' ' + height, role: 'img' });
    picture.setAttribute('aria-label', operation.members.map((member) => member.name + ' ' + member.ratio.toFixed(2) + ' times, ' + WORDS[member.stands]).join('; '));
    for (const tick of [1, 2, 4, 8]) {
      const there = x(tick);
      if (tick > 1 && there >= WIDTH - RIGHT) continue;
      picture.append(make('line', { x1: there, x2: there, y1: 0, y2: height - 14, class: 'grid' }));
      picture.append(make('text', { x: there, y: height - 2, class: 'tick', 'text-anchor': 'middle' }, tick + 'x'));
    }
    picture.append(make('text', { x: 0, y: height - 2, class: 'tick' }, 'less is better'));
    operation.members.forEach((member, row) => picture.append(drawn(member, x, step * (row + 1) - 6)));
    return make('figure', { class: 'card' }, make('figcaption', {}, operation.title), picture);
  }

  function onStandings(news) {
    ranked = true;
    show('standings', true);
    set('ahead', news.line || 'Nothing can be compared yet');
    set('decision', 'After round ' + news.block + '. ' + news.decision);
    const x = scale(news.operations);
    at('operations').replaceChildren(...news.operations.map((operation) => card(operation, x)));
    set('more', news.more ? 'and ' + news.more + ' more operations' : '');
  }

  // The disk: two lines, of what it read and wrote.

  function onDisk(news) {
    set('disk-name', news.name);
    const points = news.points;
    show('disk', points.length > 1);
    if (points.length < 2) return;
    const [W, H, L, B, T] = [640, 160, 110, 28, 14];
    const top = Math.max(1e6, ...points.map((point) => Math.max(point.read, point.written)));
    const [first, last] = [points[0].at_s, points[points.length - 1].at_s];
    const x = (time) => (L + (W - L) * (time - first) / Math.max(1, last - first)).toFixed(1);
    const y = (value) => (T + (H - T - B) * (1 - value / top)).toFixed(1);
    const line = (of, name) => make('path', { class: name, d: points.map((point, n) => (n ? 'L' : 'M') + x(point.at_s) + ' ' + y(of(point))).join('') });
    const now = points[points.length - 1];
    at('disk').replaceChildren(
      make('line', { x1: L, x2: W, y1: y(0), y2: y(0), class: 'grid' }),
      make('line', { x1: L, x2: W, y1: y(top), y2: y(top), class: 'grid' }),
      make('text', { x: L - 6, y: Number(y(top)) + 4, class: 'tick', 'text-anchor': 'end' }, bytes(top) + '/s'),
      make('text', { x: L - 6, y: Number(y(0)) + 4, class: 'tick', 'text-anchor': 'end' }, '0'),
      make('text', { x: L, y: H - 4, class: 'tick' }, clock(last - first) + ' ago'),
      make('text', { x: W, y: H - 4, class: 'tick', 'text-anchor': 'end' }, 'now'),
      line((point) => point.read, 'read'), line((point) => point.written, 'written'));
    set('disk-name', news.name + ': reads ' + bytes(now.read) + '/s (thin line), writes ' + bytes(now.written) + '/s (thick line), busy ' + Math.round(100 * now.busy) + ' % of the time.');
  }

  // Latency: a row a contender, a column a quarter of a power of ten, darker where more operations lie.

  function onLatency(news) {
    const used = news.from_ns.map((_, column) => news.rows.some((row) => row.shares[column] > 0));
    const first = Math.max(0, used.indexOf(true)), last = used.lastIndexOf(true);
    show('latency', last >= 0);
    if (last < 0) return;
    set('latency-of', news.title + ': share of operations by the time that each took, in the trials so far; median and 99th percentile of the latest trial.');
    const columns = news.from_ns.slice(first, last + 1);
    const cell = (name, text) => make('span', { class: name }, text || '');
    const rows = news.rows.map((row) => {
      const shares = row.shares.slice(first, last + 1);
      const most = Math.max(...shares);
      const bar = make('span', { class: 'row', role: 'img', 'aria-label': row.name + ': median ' + row.median + ', 99th percentile ' + row.p99 });
      shares.forEach((share, number) => {
        const bin = make('i', { title: 'from ' + span(columns[number]) + ': ' + (100 * share).toPrecision(2) + ' %' });
        bin.style.opacity = share > 0 ? (0.12 + 0.88 * Math.sqrt(share / most)).toFixed(2) : '0';
        bar.append(bin);
      });
      return [cell('name', row.name), bar, cell('p', row.median), cell('p', row.p99)];
    });
    const axis = make('span', { class: 'axis' }, make('b', {}, span(columns[0])), make('b', {}, span(columns[columns.length - 1]) + ' and more'));
    at('heat').replaceChildren(cell('name'), axis, cell('p head', 'median'), cell('p head', 'p99'), ...rows.flat());
  }

  function onLog(lines) {
    const items = lines.slice().reverse().map((line) => make('li', {}, make('time', {}, line.time), ' ', make('span', {}, line.text)));
    at('log').replaceChildren(...items);
  }

  function onWarnings(warnings) {
    show('warned', warnings.length > 0);
    at('warnings').replaceChildren(...warnings.map((warning) => make('li', {}, warning)));
  }

  function onCost(news) {
    elapsed = news.elapsed_s;
    heard = performance.now();
    const used = news.served_ms + news.prepared_ms;
    const share = used / 10 / Math.max(news.elapsed_s, 1);
    set('cost', 'This page has taken ' + used.toFixed(0) + ' ms of processor time in ' + clock(news.elapsed_s) + ' (' + share.toPrecision(2) + ' % of one core): ' +
      news.served_ms.toFixed(0) + ' ms to serve it, ' + news.prepared_ms.toFixed(0) + ' ms to prepare updates between measured phases.');
    times();
  }

  function onEnded(news) {
    over = true;
    source.close();
    set('ahead', news.text);
    set('link', 'The run has ended.');
    if (news.report) location.replace('report');
  }

  const source = new EventSource('events');
  const on = (topic, take) => source.addEventListener(topic, (event) => {
    count += 1;
    body.dataset.news = count;
    set('link', 'Up to date.');
    take(JSON.parse(event.data));
  });
  on('place', onPlace);
  on('step', onStep);
  on('progress', onProgress);
  on('standings', onStandings);
  on('latency', onLatency);
  on('disk', onDisk);
  on('log', onLog);
  on('warnings', onWarnings);
  on('cost', onCost);
  on('ended', onEnded);
  source.addEventListener('error', () => {
    if (!over) set('link', 'The run does not respond: it has ended, or the connection is lost. The page keeps trying; bakeoff serve shows the results so far.');
  });
}());
