// SPDX-License-Identifier: Apache-2.0
// Puts the page together, and keeps it so when its width, colours or medium change.
'use strict';
(function () {
  const begun = performance.now(), root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null; // by the button; otherwise the system's

  function paint(theme) {
    root.dataset.theme = theme;
    page.get('theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
    page.drawCharts();
  }
  const current = () => chosen || (dark.matches ? 'dark' : 'light');

  page.get('theme').addEventListener('click', () => { chosen = current() === 'dark' ? 'light' : 'dark'; paint(chosen); });
  dark.addEventListener('change', () => paint(current()));
  page.get('zoom').addEventListener('click', (e) => { if (e.target.dataset.zoom) page.zoomBy(e.target.dataset.zoom); });
  // Paper is white, and narrower than most screens: what is wider would make the browser shrink everything.
  addEventListener('beforeprint', () => { root.classList.add('paper'); paint('light'); page.resizeCharts(); });
  addEventListener('afterprint', () => { root.classList.remove('paper'); paint(current()); page.resizeCharts(); });
  let wide = root.clientWidth;
  addEventListener('resize', () => { if (root.clientWidth !== wide) { wide = root.clientWidth; page.resizeCharts(); } });

  root.dataset.theme = current();
  page.drawTables();
  page.drawLegends();
  paint(current());
  root.dataset.drawnMs = (performance.now() - begun).toFixed(0);
})();
