// SPDX-License-Identifier: Apache-2.0
// Appended to a copy of a report page by page.sh: looks at what the page drew, uses it as a person would, and
// leaves the findings in the document, a line each, as the test runner counts them.
'use strict';
(function () {
  const lines = [], check = (name, good, what) => lines.push((good ? 'ok ' : 'not ok ') + name + (good || what === undefined ? '' : ': ' + what));
  const ids = ['before', 'after', 'lanes', 'curve'].filter((id) => !document.getElementById(id).hidden);
  const canvasOf = (id) => document.querySelector('#' + id + ' canvas');

  // Distinct colours and the painted share of a part of a canvas.
  function look(canvas, x, y, w, h) {
    const copy = page.make('canvas', { width: Math.max(1, w), height: Math.max(1, h) }), c = copy.getContext('2d', { willReadFrequently: true });
    c.drawImage(canvas, -x, -y);
    const d = c.getImageData(0, 0, copy.width, copy.height).data, colors = new Set();
    let painted = 0;
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 0) { painted++; colors.add(d[i] >> 4 << 8 | d[i + 1] >> 4 << 4 | d[i + 2] >> 4); }
    return { colors: colors.size, share: painted / (d.length / 4) };
  }
  const picture = (id) => canvasOf(id).toDataURL();
  const chart = (id) => page.charts.find((u) => u.root.parentNode.id === id);
  const scale = (id) => [chart(id).scales.x.min, chart(id).scales.x.max];

  function charts() {
    for (const id of ids) {
      const u = chart(id), canvas = canvasOf(id), b = u.bbox;
      const inside = look(canvas, b.left, b.top, b.width, b.height);
      check(id + ' has a picture', inside.colors > 2 && inside.share > .05, JSON.stringify(inside));
      const below = look(canvas, b.left, b.top + b.height + 4, b.width, canvas.height - b.top - b.height - 4);
      const beside = look(canvas, 0, b.top, b.left - 8, b.height);
      check(id + ' has labelled axes', below.share > .01 && beside.share > .01, JSON.stringify([below, beside]));
      check(id + ' names its axes and units', u.axes.every((a) => a.label === 'Lane' || /\((ms|MiB|GiB)\)$/.test(a.label)));
    }
    for (const list of document.querySelectorAll('.legend')) {
      if (list.hidden) continue;
      check(list.id + ' has entries', list.children.length > 0 && [...list.children].every((li) => li.textContent.length > 2));
    }
  }

  // Charts draw when the script that changed them has ended.
  const drawn = () => new Promise((done) => setTimeout(done, 50));

  async function zoom() {
    const timed = ids.filter((id) => id !== 'curve'), whole = scale('before'), old = picture('before');
    document.querySelector('[data-zoom=in]').click();
    await drawn();
    check('zoom narrows every time axis alike', timed.every((id) => {
      const [from, to] = scale(id);
      return Math.abs((to - from) / (whole[1] - whole[0]) - .5) < .01;
    }), JSON.stringify(timed.map(scale)));
    check('zoom changes the picture', picture('before') !== old);
    document.querySelector('[data-zoom=all]').click();
    await drawn();
    check('the whole step comes back', timed.every((id) => scale(id).join() === whole.join()) && picture('before') === old);
    // As a drag ends: on one chart only.
    chart('before').setScale('x', { min: whole[0], max: whole[0] + (whole[1] - whole[0]) / 4 });
    await drawn();
    check('charts follow the one that is dragged', scale('before').join() !== whole.join() && timed.every((id) => scale(id).join() === scale('before').join()));
    document.querySelector('[data-zoom=all]').click();
    await drawn();
  }

  async function colors() {
    const back = () => getComputedStyle(document.body).backgroundColor, old = [back(), picture('before'), picture(ids[ids.length - 1])];
    document.getElementById('theme').click();
    await drawn();
    const now = [back(), picture('before'), picture(ids[ids.length - 1])];
    check('the other scheme has other colours', old.every((c, i) => c !== now[i]));
    document.getElementById('theme').click();
    check('and back', back() === old[0]);
  }

  function text() {
    const r = page.report, tile = document.querySelector('#tiles dd').firstChild.textContent;
    check('the verdict is the report’s', document.getElementById('verdict').textContent === r.verdict);
    check('the first tile is the peak', tile === page.bytes(r.before.peak_bytes), tile);
    document.querySelectorAll('button.more').forEach((b) => b.click());
    for (const [id, rows] of [['idle', r.idle], ['peak', r.peak.largest], ['moves', r.largest_moves]])
      check(id + ' has a row each', document.querySelectorAll('#' + id + ' tbody tr').length === rows.length);
    const shown = !document.getElementById('achieved-section').hidden;
    check('what was achieved is shown if it is known', shown === (r.achieved !== null) && (!shown || document.querySelectorAll('#achieved tbody tr').length === 4));
    check('nothing is undefined', !/undefined|NaN|Infinity|null/.test(document.querySelector('main').innerText));
    check('nothing has to be scrolled sideways', document.documentElement.scrollWidth <= document.documentElement.clientWidth, document.documentElement.scrollWidth);
    const cut = [...document.querySelectorAll('td, dd, dt, button, h1, h2')].filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0);
    check('no text is cut', cut.length === 0, cut.slice(0, 3).map((e) => e.textContent.slice(0, 40)).join(' | '));
  }

  function finish() {
    check('nothing was requested', performance.getEntriesByType('resource').length === 0);
    const facts = { width: innerWidth, theme: document.documentElement.dataset.theme, drawnMs: document.documentElement.dataset.drawnMs };
    document.body.append(page.make('pre', { id: 'selftest' }, '\n' + lines.join('\n') + '\nfacts ' + JSON.stringify(facts) + '\n'));
  }

  async function run() {
    await drawn();
    charts();
    await zoom();
    await colors();
    text();
  }
  run().catch((error) => check('the test itself', false, error.stack)).then(finish);
})();
