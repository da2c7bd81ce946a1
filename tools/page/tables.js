// SPDX-License-Identifier: Apache-2.0
// Everything on the page that is text: verdict, tiles, tables.
'use strict';
(function () {
  const r = page.report, plan = r.plan;

  // COLUMNS: {name, text (row -> content), as: 'n' a number, 'wide' needs room, 'name' of an operation, 'prose' words}.
  function table(id, columns, rows, first) {
    const body = page.make('tbody', {});
    const shown = first && rows.length > first ? first : rows.length;
    const add = (row) => body.append(page.make('tr', {}, ...columns.map((c) =>
      page.make('td', { 'data-label': c.name, class: c.as || '' }, page.make('span', {}, ...[].concat(c.text(row)))))));
    rows.slice(0, shown).forEach(add);
    const head = page.make('thead', {}, page.make('tr', {}, ...columns.map((c) => page.make('th', { class: c.as || '', scope: 'col' }, c.name))));
    page.get(id).replaceChildren(page.make('table', {}, head, body));
    if (shown === rows.length) return;
    const more = page.make('button', { type: 'button', class: 'more' }, 'Show all ' + rows.length);
    more.addEventListener('click', () => { rows.slice(shown).forEach(add); more.remove(); });
    page.get(id).append(more);
  }

  function site(row) {
    const frames = row.site.filter((f) => !/ in libcudart/.test(f)).slice(0, 3);
    return page.make('span', {}, ...(frames.length ? frames : ['allocated at an unknown place']).map((f) => page.make('div', { class: 'site' }, f)));
  }
  const kind = (row) => [page.swatch(row.class), page.labelOf(row.class) + (row.pinned ? ': ' + row.pinned : '')];

  function head() {
    page.get('program').textContent = [r.program, r.device, page.count(r.trust.ops.reduce((s, o) => s + o.count, 0)) + ' operations a step'].filter(Boolean).join(' · ');
    page.get('verdict').textContent = r.verdict;
    page.get('why').textContent = 'The budget shown is ' + page.bytes(r.budget.gpu_bytes) + ' (' + r.budget.why + '); spillway report --gpu-mem SIZE shows another. ' +
      'Step times are predicted from the profiled durations and the speed of the link.';
    const warnings = [];
    if (r.iterations === 0) warnings.push('No iteration that repeats was found: this is the whole run, planned as if it repeated.');
    if (r.paged_bytes > 0) warnings.push(page.bytes(r.paged_bytes) + ' were paged while profiling because memory was too small: measured times are longer than they would be.');
    page.get('warning').hidden = warnings.length === 0;
    page.get('warning').textContent = warnings.join(' ');
    const tiles = [['Needs', page.bytes(r.before.peak_bytes), 'at its peak'], ['Budget', page.bytes(r.budget.gpu_bytes), 'of GPU memory']];
    if (plan.fits) {
      tiles.push(['Step', page.ms(plan.step_ns), page.slower(plan.step_ns, plan.ideal_ns) + (plan.step_ns > plan.ideal_ns ? ' on ' : ' than ') + page.ms(plan.ideal_ns)],
        ['Moved a step', page.bytes(plan.out_bytes + plan.in_bytes), 'out and in together'],
        ['Host memory', page.bytes(plan.host_bytes), 'pinned']);
    }
    tiles.push(['Smallest budget', r.smallest.gpu_bytes === null ? 'none' : page.bytes(r.smallest.gpu_bytes), 'that any plan can keep']);
    page.get('tiles').replaceChildren(...tiles.map(([name, value, note]) =>
      page.make('div', {}, page.make('dt', {}, name), page.make('dd', {}, value, page.make('small', {}, note)))));
    page.get('footer').textContent = r.generator + ' · report schema ' + r.schema + ' · the numbers of this page: spillway report TRACE --format json --gpu-mem ' + r.budget.gpu_bytes;
  }

  function idle() {
    const fate = (row) => row.pinned ? 'pinned' : row.moved_page_bytes > 0 ? page.bytes(row.moved_page_bytes) + ' moved' :
      row.copies_ns > row.idle_ns ? 'stays: copies take longer' : 'stays: not needed';
    table('idle', [
      { name: 'Size', as: 'n', text: (row) => page.bytes(row.bytes) },
      { name: 'Idle', as: 'n', text: (row) => page.ms(row.idle_ns) },
      { name: 'Copies', as: 'n', text: (row) => page.ms(row.copies_ns) },
      { name: 'Between', as: 'name', text: (row) => row.after.op === null ? 'not used in a step' : page.op(row.after) + ' and ' + page.op(row.before) + (row.before.op <= row.after.op ? ' of the next step' : '') },
      { name: 'Plan', as: 'prose', text: fate },
      { name: 'Kind and call site', as: 'wide', text: (row) => [...kind(row), site(row)] },
    ], r.idle, 10);
  }

  function peak() {
    const p = r.peak, total = p.page_bytes;
    page.get('peak-note').textContent = page.bytes(total) + ' in ' + page.count(p.buffers) + ' buffers while ' + page.op(p.during) + ' runs. ' +
      'The largest operation, ' + (r.largest_op.op === null ? 'none' : 'op ' + r.largest_op.op) + ', needs ' + page.bytes(r.largest_op.bytes) + ' at once: below that no plan can go.';
    const at = r.before.ns.reduce((best, ns, i) => ns <= r.before.peak_at_ns ? i : best, 0);
    page.get('peak-bar').replaceChildren(...page.classes.filter((c) => r.before.bytes[c.class][at] > 0).map((c) => page.make('span', {
      style: 'background:var(--' + c.class + ');flex:' + r.before.bytes[c.class][at] / total,
      title: c.label + ': ' + page.bytes(r.before.bytes[c.class][at]),
    })));
    table('peak', [
      { name: 'Size', as: 'n', text: (row) => page.bytes(row.page_bytes) },
      { name: 'Share', as: 'n', text: (row) => page.percent(row.page_bytes, total) },
      { name: 'Buffer', as: 'n', text: (row) => row.buffer },
      { name: 'Kind', as: 'prose', text: kind },
      { name: 'Call site', as: 'wide', text: site },
    ], p.largest, 10);
    if (p.others_page_bytes > 0) page.get('peak').append(page.make('p', { class: 'note' }, 'All others: ' + page.bytes(p.others_page_bytes) + '.'));
  }

  function moves() {
    if (!plan.fits || plan.moves + plan.parks === 0) {
      page.get('plan-note').textContent = plan.fits ? 'Nothing has to be moved.' : 'There is no plan within this budget. The smallest one possible is set by ' + page.op(r.smallest.op) + '.';
      return;
    }
    page.get('plan-note').textContent = page.count(plan.moves) + ' moves of ' + page.count(plan.moved_buffers) + ' buffers a step' +
      (plan.parks > 0 ? ', and ' + page.count(plan.parks) + ' unused pieces kept on the host' : '') +
      '. Times count from the start of the step that sends the pages out.';
    const busy = (ns) => page.ms(ns) + ' a step, ' + page.percent(ns, plan.step_ns);
    page.facts('plan-facts', [
      ['Step', page.ms(plan.step_ns) + '; without a limit ' + page.ms(plan.ideal_ns) + '; no plan is faster than ' + page.ms(plan.bound_ns)],
      ['Waits for copies in', page.ms(plan.stall_in_ns)],
      ['Waits for memory', page.ms(plan.stall_memory_ns)],
      ['Copied out, link busy', page.bytes(plan.out_bytes) + ', ' + busy(plan.out_busy_ns)],
      ['Copied in, link busy', page.bytes(plan.in_bytes) + ', ' + busy(plan.in_busy_ns)],
      ['Memory', 'peak ' + page.bytes(plan.peak_bytes) + ', laid out in ' + page.bytes(plan.frame_bytes)],
    ]);
    table('moves', [
      { name: 'Size', as: 'n', text: (m) => page.bytes(m.bytes) },
      { name: 'Buffer', as: 'n', text: (m) => m.buffer },
      { name: 'Kind', as: 'prose', text: kind },
      { name: 'Leaves after', as: 'name', text: (m) => page.op(m.out_after) },
      { name: 'Needed by', as: 'name', text: (m) => page.op(m.used_by) },
      { name: 'Out', as: 'n', text: (m) => (m.out_start_ns / 1e6).toFixed(2) + ' – ' + page.ms(m.out_end_ns) },
      { name: 'In', as: 'n', text: (m) => (m.in_start_ns / 1e6).toFixed(2) + ' – ' + page.ms(m.in_end_ns) },
      { name: 'To spare', as: 'n', text: (m) => m.spare_ns === 0 ? 'none' : page.ms(m.spare_ns) },
    ], r.largest_moves, 15);
    if (r.largest_moves.length < plan.moves)
      page.get('moves').append(page.make('p', { class: 'note' }, 'The ' + r.largest_moves.length + ' largest of ' + page.count(plan.moves) + ' moves; spillway report --format csv-moves lists all.'));
  }

  function trust() {
    const t = r.trust, all = t.accesses.reduce((s, a) => s + a.count, 0);
    const list = (rows, name) => rows.map((x) => page.count(x.count) + ' ' + x[name]).join(', ');
    page.facts('trust', [
      ['Match score', r.match_score === null ? 'none: no iteration that repeats was found' : (100 * r.match_score).toFixed(1) + ' %: ' + page.count(r.iterations) + ' of ' + page.count(r.iterations + r.others) + ' iterations watched are alike, ' + page.ms(r.step_ns) + ' each, border to border'],
      r.others > 0 ? ['Other iterations', r.differences.slice(0, 3).map((d) => 'iteration ' + d.iteration + ', op ' + d.op + ': ' + (d.found || '?') + ' instead of ' + (d.expected || '?')).join('; ') + (r.others > 3 ? '; and others' : '')] : null,
      ['Hooked calls', r.hooked_calls === null ? 'not recorded in this trace' : page.count(r.hooked_calls) + ' driver calls of the program seen'],
      ['Operations', list(t.ops, 'kind')],
      ['Kernels without a buffer', page.count(t.kernels_without_buffers) + (t.kernels_without_buffers > 0 ? ': no address was found in their parameters' : '')],
      ['Accesses', page.count(all) + ': ' + list(t.accesses, 'mode') + '; unknown counts as a write'],
      ['Pinned, never moved', t.pinned.length === 0 ? 'nothing' : t.pinned.map((p) => page.bytes(p.bytes) + ' in ' + page.count(p.buffers) + ' buffers: ' + p.reason).join('; ')],
      ['Link', t.links_measured ? page.rate(r.links.out.bytes_per_s) + ' to the host, ' + page.rate(r.links.in.bytes_per_s) + ' to the GPU, measured' : 'not measured: 12 GB/s assumed'],
      ['Both directions at once', t.duplex_measured ? (r.links.duplex_permille / 10) + ' % of its rate left to each, measured' : 'not measured'],
      ['Call sites', page.count(t.buffers_with_call_site) + ' of ' + page.count(page.classes.reduce((s, c) => s + c.buffers, 0)) + ' buffers'],
      ['Pages', page.bytes(r.page_bytes) + ' each; ' + page.bytes(r.small_bytes) + ' of buffers below one page stay'],
    ]);
  }

  function cards() {
    // Up to the smallest card that holds everything: the larger ones do the same.
    const enough = r.cards.findIndex((c) => c.gpu_bytes >= r.unlimited.peak_bytes);
    const known = r.cards.slice(0, enough < 0 ? r.cards.length : enough + 1).filter((c) => c.step_ns !== null || !c.fits);
    if (known.length < 2) return;
    table('cards', [
      { name: 'Card', as: 'n', text: (c) => c.gib + ' GB' },
      { name: 'Left for the program', as: 'n', text: (c) => page.bytes(c.gpu_bytes) },
      { name: 'Step', as: 'n', text: (c) => c.fits ? page.ms(c.step_ns) : '–' },
      { name: 'Compared with no limit', text: (c) => c.fits ? page.slower(c.step_ns, r.unlimited.ideal_ns) : 'cannot hold the largest operation' },
    ], known);
    page.get('cards').firstChild.classList.add('narrow');
  }

  // What a run achieved, of its first device with a plan, against that run's own last plan.
  function achieved() {
    const device = r.achieved && r.achieved.devices.find((d) => d.plans.length > 0);
    page.get('achieved-section').hidden = !r.achieved;
    if (!r.achieved) return;
    if (!device) { page.get('achieved-note').textContent = 'The run put no plan in force.'; return; }
    const p = device.plans[device.plans.length - 1], known = (ns) => ns > 0 ? page.ms(ns) : 'not measured';
    page.get('achieved-note').textContent = 'Process ' + r.achieved.pid + ', within ' + page.bytes(device.gpu_budget_bytes) + (device.plan_count > 1 ? '; the last of ' + page.count(device.plan_count) + ' plans' : '; its plan') + ', replayed ' + page.count(p.replayed) + ' times. That run planned for itself: its plan need not be the one above.';
    table('achieved', [
      { name: 'Quantity', text: (row) => row[0] }, { name: 'Planned', as: 'n', text: (row) => row[1] }, { name: 'Achieved', as: 'n', text: (row) => row[2] },
    ], [
      ['Peak GPU memory', page.bytes(p.planned_peak_bytes), page.bytes(device.peak_bytes)],
      ['Pinned host memory', page.bytes(p.host_bytes), page.bytes(device.host_peak_bytes)],
      ['Step', known(p.predicted_step_ns), known(p.step_ns)],
      ['Waiting in a step', page.ms(p.predicted_wait_in_ns + p.predicted_wait_memory_ns), p.step_ns > 0 ? page.ms(Math.max(0, p.step_ns - p.compute_ns)) : 'not measured'],
    ]);
    page.get('achieved').firstChild.classList.add('narrow');
    const sum = (o) => Object.entries(o).filter((e) => e[1] > 0).map((e) => page.count(e[1]) + ' ' + e[0].replace(/_/g, ' ')).join(', ') || 'none';
    const facts = page.make('dl', { class: 'facts', id: 'achieved-facts' });
    page.get('achieved').append(facts);
    page.facts('achieved-facts', [
      r.achieved.hooked_calls > 0 ? ['Hooked calls', page.count(r.achieved.hooked_calls) + ' driver calls of the program seen'] : null,
      ['Operations', sum(device.ops)],
      ['Plans left', sum(device.fallbacks)],
      ['Moved in all', page.bytes(device.out_bytes) + ' out, ' + page.bytes(device.in_bytes) + ' in; on demand ' + page.bytes(device.paged_out_bytes) + ' and ' + page.bytes(device.paged_in_bytes)],
      ['The host was held', Object.entries(device.host_stall_ns).map((e) => page.ms(e[1]) + ' ' + e[0]).join(', ')],
      ['Before the plan', known(p.step_before_ns) + ' a step'],
    ]);
  }

  page.drawTables = function () { head(); cards(); idle(); peak(); moves(); trust(); achieved(); };
})();
