// SPDX-License-Identifier: Apache-2.0
// The pictures: memory before and after, the lanes under it, and the curve. The first three share one
// time axis: whoever zooms one zooms all.
'use strict';
(function () {
  const r = page.report, plan = r.plan, ms = 1e-6;
  const LEFT = 70; // of every chart, so that equal times stand above each other
  const font = () => '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  const length = Math.max(r.before.length_ns, r.after ? r.after.length_ns : 0) * ms;
  let timed = [], all = [], busy = false, window_ = [0, length];

  // MiB for small programs, GiB for others: one unit a picture.
  function unitFor(bytes) {
    return bytes >= 4 * 2 ** 30 ? { name: 'GiB', size: 2 ** 30 } : { name: 'MiB', size: 2 ** 20 };
  }
  const axis = (label, more) => Object.assign({
    label, stroke: page.color('dim'), font: font(), labelFont: font(), labelSize: 22, labelGap: 0,
    grid: { stroke: page.color('grid'), width: 1 }, ticks: { stroke: page.color('grid'), width: 1, size: 5 },
  }, more);
  const width = (id) => Math.max(240, page.get(id).clientWidth);

  function zoom(from, to) {
    const least = length / 2000;
    if (to - from < least) to = from + least;
    const wide = Math.min(to - from, length);
    from = Math.min(Math.max(from, 0), length - wide);
    window_ = [from, from + wide];
    busy = true;
    timed.forEach((u) => u.setScale('x', { min: window_[0], max: window_[1] }));
    busy = false;
  }
  page.zoomBy = function (what) {
    const [from, to] = window_, span = to - from, mid = (from + to) / 2;
    if (what === 'all') zoom(0, length);
    else if (what === 'in') zoom(mid - span / 4, mid + span / 4);
    else if (what === 'out') zoom(mid - span, mid + span);
    else zoom(from + (what === 'left' ? -span / 2 : span / 2), to + (what === 'left' ? -span / 2 : span / 2));
  };

  // What the three time charts have in common.
  const timeOptions = (id, height, rest) => Object.assign({
    width: width(id), height, legend: { show: false }, padding: [8, 12, 0, 0],
    cursor: { y: false, sync: { key: 'time' }, drag: { x: true, y: false, setScale: true }, points: { show: false },
      bind: { dblclick: () => () => { page.zoomBy('all'); return null; } } },
  }, rest, {
    hooks: Object.assign({
      setScale: [(u, key) => { if (key === 'x' && !busy) zoom(u.scales.x.min, u.scales.x.max); }],
    }, rest.hooks),
  });

  // A horizontal line at VALUE with its name above it.
  function rule(u, value, name, color, dash) {
    const y = u.valToPos(value, 'y', true), { left, top, width: wide, height } = u.bbox, c = u.ctx, px = uPlot.pxRatio;
    if (!(y >= top && y <= top + height)) return;
    c.save();
    c.strokeStyle = c.fillStyle = color;
    c.lineWidth = 2 * px;
    c.setLineDash(dash.map((d) => d * px));
    c.beginPath(); c.moveTo(left, y); c.lineTo(left + wide, y); c.stroke();
    c.font = font().replace('12px', 12 * px + 'px');
    c.textAlign = 'right';
    c.textBaseline = y - top > 18 * px ? 'bottom' : 'top';
    const text = c.measureText(name).width, at = left + wide - 4 * px, below = c.textBaseline === 'top';
    c.globalAlpha = .82; c.fillStyle = page.color('bg');
    c.fillRect(at - text - 4 * px, below ? y + 2 * px : y - 17 * px, text + 8 * px, 15 * px);
    c.globalAlpha = 1; c.fillStyle = color;
    c.fillText(name, at, below ? y + 3 * px : y - 3 * px);
    c.restore();
  }

  function memory(id, holding) {
    const height = 250, peak = Math.max(r.before.peak_bytes, r.after ? r.after.peak_bytes : 0);
    const lines = [{ bytes: r.budget.gpu_bytes, name: 'budget', color: 'budget', dash: [] }];
    if (r.gpu_bytes > 0 && r.gpu_bytes !== r.budget.gpu_bytes) lines.push({ bytes: r.gpu_bytes, name: 'capacity', color: 'ink', dash: [6, 4] });
    // A line far above the memory would press it flat: it is told instead (memory-note).
    const near = lines.filter((l) => l.bytes <= 1.7 * peak);
    const top = Math.max(peak, ...near.map((l) => l.bytes)) * 1.1, unit = unitFor(top);
    const times = holding.ns.concat([holding.length_ns]).map((ns) => ns * ms);
    const sums = [], keys = page.classes.map((c) => c.class);
    let below = holding.ns.map(() => 0);
    for (const key of keys) {
      below = below.map((sum, i) => sum + holding.bytes[key][i]);
      sums.push(below.concat([below[below.length - 1]]).map((b) => b / unit.size));
    }
    // The highest sum first: each next one covers the lower part of it.
    const series = [{}].concat(keys.map((key) => ({
      label: page.labelOf(key), stroke: page.color(key), width: .5, fill: page.color(key), points: { show: false },
      paths: uPlot.paths.stepped({ align: 1 }),
    })).reverse());
    const chart = new uPlot(timeOptions(id, height, {
      series, drawOrder: ['series', 'axes'],
      scales: { x: { time: false, range: (u, min, max) => [min, max] }, y: { range: () => [0, top / unit.size] } },
      axes: [axis('Time in the step (ms)', { size: 30 }), axis('GPU memory held (' + unit.name + ')', { size: LEFT - 22 })],
      hooks: {
        draw: [(u) => near.forEach((l) => rule(u, l.bytes / unit.size, l.name + ' ' + page.bytes(l.bytes), page.color(l.color), l.dash))],
        setCursor: [(u) => tell(u, id, holding)],
      },
    }), [times].concat(sums.reverse()), page.get(id));
    timed.push(chart);
    all.push(chart);
  }

  // What the cursor is at, in words.
  function tell(u, id, holding) {
    if (u.cursor.left === undefined || u.cursor.left < 0) { if (u.cursor.event) page.get('readout').textContent = ''; return; }
    if (!u.cursor.event) return; // moved by another chart
    const ns = u.posToVal(u.cursor.left, 'x') / ms;
    let low = 0, high = holding.ns.length - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (holding.ns[mid] <= ns) low = mid; else high = mid - 1;
    }
    const parts = page.classes.map((c) => [c.label, holding.bytes[c.class][low]]).filter((p) => p[1] > 0);
    page.get('readout').textContent = (id === 'before' ? 'As it is' : 'Under the plan') + ', at ' + page.ms(Math.max(0, ns)) + ' (' + holding.op[low] + '): ' +
      page.bytes(parts.reduce((s, p) => s + p[1], 0)) + ' = ' + parts.map((p) => page.bytes(p[1]) + ' ' + p[0].toLowerCase()).join(' + ');
  }

  const LANES = [['out', 'to host'], ['in', 'to GPU'], ['wait', 'waits']];
  function lanes(id) {
    const chart = new uPlot(timeOptions(id, 150, {
      series: [{}, { show: true, stroke: 'transparent', points: { show: false } }],
      scales: { x: { time: false, range: (u, min, max) => [min, max] }, y: { range: () => [0, 3] } },
      axes: [axis('Time in the step (ms)', { size: 30 }),
        axis('Lane', { size: LEFT - 22, splits: () => [.5, 1.5, 2.5], values: () => LANES.map((l) => l[1]).reverse(), grid: { show: false }, ticks: { show: false }, gap: 3, font: font().replace('12px', '11px') })],
      hooks: {
        draw: [(u) => LANES.forEach(([name], row) => {
          const c = u.ctx, { left, top, width: wide, height } = u.bbox, tall = height / 3, pad = tall * .16;
          c.save();
          c.beginPath(); c.rect(left, top, wide, height); c.clip();
          c.fillStyle = page.color('card');
          c.fillRect(left, top + row * tall + pad, wide, tall - 2 * pad);
          c.fillStyle = page.color(name);
          for (const [from, to, permille] of r.lanes[name].from_to_permille) {
            const x = u.valToPos(from * ms, 'x', true), end = u.valToPos(to * ms, 'x', true);
            if (end < left || x > left + wide) continue;
            const high = (tall - 2 * pad) * permille / 1000;
            c.fillRect(x, top + (row + 1) * tall - pad - high, Math.max(end - x, 1), high);
          }
          c.restore();
        })],
      },
    }), [[0, length], [0, 0]], page.get(id));
    timed.push(chart);
    all.push(chart);
  }

  function drawMarks(u, marks) {
    const c = u.ctx, { left, top, width: wide, height } = u.bbox, px = uPlot.pxRatio, ends = [-Infinity, -Infinity];
    c.save();
    c.font = font().replace('12px', 12 * px + 'px');
    c.textBaseline = 'top';
    for (const mark of marks) {
      const x = u.valToPos(mark.x, 'x', true), text = c.measureText(mark.name).width, from = Math.min(Math.max(x - text / 2, left), left + wide - text);
      if (x < left || x > left + wide) continue;
      c.strokeStyle = c.fillStyle = page.color(mark.color);
      c.lineWidth = px; c.setLineDash([3 * px, 4 * px]);
      c.beginPath(); c.moveTo(x, top); c.lineTo(x, top + height); c.stroke();
      const row = ends.findIndex((end) => from > end + 6 * px);
      if (row < 0) continue; // no room for its name; the table below has it
      ends[row] = from + text;
      c.fillText(mark.name, from, top - (34 - 16 * row) * px);
    }
    c.restore();
  }

  function curve(id) {
    const rows = r.curve.filter((p) => p.fits), ideal = r.unlimited.ideal_ns * ms;
    if (rows.length === 0) return;
    const last = rows[rows.length - 1].gpu_bytes, first = rows[0].gpu_bytes, unit = unitFor(last);
    const x = rows.map((p) => p.gpu_bytes / unit.size), y = rows.map((p) => p.step_ns * ms);
    const span = (last - first || last) / unit.size, low = Math.max(0, first / unit.size - span * .1), high = last / unit.size + span * .06;
    const slowest = Math.max(...y, ideal) * 1.12;
    const marks = r.cards.filter((c) => c.gpu_bytes / unit.size >= low && c.gpu_bytes / unit.size <= high).map((c) => ({ x: c.gpu_bytes / unit.size, name: c.gib + ' GB', color: 'dim' }));
    const chosen = plan.fits ? [plan.gpu_bytes / unit.size, plan.step_ns * ms] : null;
    all.push(new uPlot({
      width: width(id), height: 330, legend: { show: false }, padding: [40, 16, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 9 } },
      scales: { x: { time: false, range: () => [low, high] }, y: { range: () => [0, slowest] } },
      axes: [axis('GPU memory (' + unit.name + ')', { size: 30 }), axis('Step time, predicted (ms)', { size: LEFT - 22 })],
      series: [{}, { label: 'step', stroke: page.color('step'), width: 2.5, points: { show: true, size: 7, fill: page.color('step') } }],
      hooks: {
        drawClear: [(u) => { // what no plan can do
          const c = u.ctx, { left, top, height } = u.bbox, end = u.valToPos(first / unit.size, 'x', true);
          c.save(); c.fillStyle = page.color('card'); c.fillRect(left, top, end - left, height); c.restore();
        }],
        draw: [(u) => {
          const c = u.ctx, px = uPlot.pxRatio;
          drawMarks(u, marks);
          const level = u.valToPos(ideal, 'y', true), { left, width: wide } = u.bbox;
          c.save();
          c.strokeStyle = page.color('idle'); c.lineWidth = 2 * px; c.setLineDash([6 * px, 4 * px]);
          c.beginPath(); c.moveTo(left, level); c.lineTo(left + wide, level); c.stroke();
          if (chosen) {
            c.setLineDash([]); c.fillStyle = page.color('budget'); c.strokeStyle = page.color('bg'); c.lineWidth = 2 * px;
            c.beginPath(); c.arc(u.valToPos(chosen[0], 'x', true), u.valToPos(chosen[1], 'y', true), 7 * px, 0, 7); c.fill(); c.stroke();
          }
          c.restore();
        }],
        setCursor: [(u) => {
          const p = rows[u.cursor.idx];
          page.get('curve-readout').textContent = p && u.cursor.left >= 0 ? page.bytes(p.gpu_bytes) + ': ' + page.ms(p.step_ns) + ' a step, ' + page.slower(p.step_ns, p.ideal_ns) +
            '; ' + page.bytes(p.out_bytes + p.in_bytes) + ' moved, ' + page.bytes(p.host_bytes) + ' pinned on the host' : '';
        }],
      },
    }, [x, y], page.get(id)));
  }

  page.drawCharts = function () {
    all.forEach((u) => u.destroy());
    timed = []; all = [];
    memory('before', r.before);
    if (r.after) { memory('after', r.after); lanes('lanes'); }
    curve('curve');
    zoom(window_[0], window_[1]);
    page.charts = all;
  };
  page.resizeCharts = () => all.forEach((u) => u.setSize({ width: Math.max(240, u.root.parentNode.clientWidth), height: u.height }));

  page.drawLegends = function () {
    page.legend('memory-legend', page.classes.map((c) => ({ color: c.class, label: c.label })).reverse()
      .concat([{ color: 'budget', kind: 'line', label: 'Budget' }, r.gpu_bytes > 0 ? { color: 'ink', kind: 'line dashed', label: 'Capacity of the GPU' } : null]).filter(Boolean));
    page.legend('lane-legend', [{ color: 'out', label: 'Copies to the host' }, { color: 'in', label: 'Copies to the GPU' }, { color: 'wait', label: 'The GPU waits' }]);
    page.legend('curve-legend', [{ color: 'step', kind: 'line', label: 'Predicted step time' }, { color: 'idle', kind: 'line dashed', label: 'Without a limit' },
      { color: 'budget', kind: 'dot', label: 'The plan shown' }, { color: 'dim', kind: 'line dashed', label: 'Cards, less 0.5 GiB for the driver' }, { color: 'card', label: 'Too little for any plan' }]);
    const notes = ['Drag over a chart to zoom, double-click for the whole step.',
      'A trace knows no names of tensors: kinds go by use. At several times of a step: as weights are; in one go: as optimizer state is; idle in between: as activations and gradients are; never idle: as workspace is.'];
    const far = [['The budget, ', r.budget.gpu_bytes], ['The GPU’s capacity, ', r.gpu_bytes]].filter((f) => f[1] > 1.7 * r.before.peak_bytes);
    far.forEach((f) => notes.push(f[0] + page.bytes(f[1]) + ', lies far above the picture.'));
    if (r.before.decimated || (r.after && r.after.decimated)) notes.push('The step has more changes than fit here: each of 2,000 slices shows its highest point.');
    if (r.lanes && ['out', 'in', 'wait'].some((l) => r.lanes[l].decimated)) notes.push('Lanes with more than 1,000 entries show how busy each thousandth of the step is, by height.');
    page.get('memory-note').textContent = notes.join(' ');
    for (const id of ['after', 'h-after', 'lanes', 'h-lanes', 'lane-legend']) page.get(id).hidden = !r.after;
    const drawn = r.curve.some((p) => p.fits), fit = r.cards.find((c) => c.gpu_bytes >= r.unlimited.peak_bytes);
    page.get('curve').hidden = page.get('curve-legend').hidden = page.get('curve-readout').hidden = !drawn;
    page.get('curve-note').textContent = (drawn ? 'Each dot is a plan; the axis begins at 0. ' :
      r.smallest.gpu_bytes === null ? 'No plan exists within this host memory. ' : 'Not drawn for a trace this long, because each point is a plan: add --curve 6. ') +
      (fit ? 'The smallest common card that holds it all as it is: ' + fit.gib + ' GB.' : 'No common card holds it all as it is.');
  };
})();
