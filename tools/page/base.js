// SPDX-License-Identifier: Apache-2.0
// What all parts of the page use: the report, numbers as text, elements, colours.
'use strict';
const page = { report: JSON.parse(document.getElementById('report').textContent) };

// As the command prints sizes: one decimal, powers of 1024.
page.bytes = function (n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let u = 0;
  while (n >= 1024 && u + 1 < units.length) { n /= 1024; u++; }
  return (u === 0 ? n : n.toFixed(1)) + ' ' + units[u];
};
page.ms = function (ns) {
  const ms = ns / 1e6;
  return (ms >= 1000 ? ms.toFixed(0) : ms >= 100 ? ms.toFixed(1) : ms >= 1 ? ms.toFixed(2) : ms.toFixed(3)) + ' ms';
};
page.count = (n) => n.toLocaleString('en');
page.percent = (part, whole) => (whole > 0 ? 100 * part / whole : 0).toFixed(1) + ' %';
// How much longer than without a limit.
page.slower = function (step, ideal) {
  const more = ideal > 0 ? 100 * (step / ideal - 1) : 0;
  return more < 0.05 ? 'no longer' : '+' + more.toFixed(1) + ' %';
};
page.rate = (bytes_per_s) => (bytes_per_s / 1e9).toFixed(1) + ' GB/s';
page.op = (op) => op.op === null ? '' : op.name + ' (op ' + op.op + ')';

page.get = (id) => document.getElementById(id);
// An element with text or other elements in it.
page.make = function (name, attributes, ...content) {
  const element = document.createElement(name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  element.append(...content.filter((c) => c !== null && c !== undefined));
  return element;
};
page.swatch = (color, kind) => page.make('span', {
  class: 'swatch ' + (kind || ''),
  style: (kind && kind.startsWith('line') ? 'border-color:' : 'background:') + 'var(--' + color + ')',
});
page.color = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
page.legend = function (id, entries) {
  page.get(id).replaceChildren(...entries.map((e) => page.make('li', {}, page.swatch(e.color, e.kind), e.label)));
};
page.facts = function (id, rows) {
  page.get(id).replaceChildren(...rows.filter((r) => r).flatMap(([name, text]) => [page.make('dt', {}, name), page.make('dd', {}, text)]));
};
// Bottom to top, as far as there are any.
page.classes = page.report.classes.filter((c) => c.page_bytes > 0);
page.labelOf = (key) => page.report.classes.find((c) => c.class === key).label;
