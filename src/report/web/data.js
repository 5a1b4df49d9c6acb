// The study as the page sees it: columns of equal length, decoded once; rows are indices.
export function load() {
  const raw = JSON.parse(document.getElementById("report-data").textContent);
  const columns = new Map();
  for (const c of raw.columns) {
    const values = c.dict ? c.values.map((i) => (i === null ? null : c.dict[i])) : c.values;
    columns.set(c.name, { ...c, values });
  }
  const axes = raw.columns.filter((c) => c.role === "axis").map((c) => c.name).filter((n) => n !== "workload");
  return { ...raw, columns, axes, rows: [...Array(raw.n).keys()] };
}

export const value = (study, name, row) => study.columns.get(name)?.values[row] ?? null;

// Distinct values of a column in first-seen order, numbers sorted.
export function distinct(study, name, rows = study.rows) {
  const seen = [...new Set(rows.map((r) => value(study, name, r)))].filter((v) => v !== null);
  return seen.every((v) => typeof v === "number") ? seen.sort((a, b) => a - b) : seen;
}

// Rows whose axis values equal those of `fixed` ({axis: value}; null or missing = any).
export function select(study, fixed) {
  const wanted = Object.entries(fixed).filter(([, v]) => v !== null && v !== undefined);
  return study.rows.filter((r) => wanted.every(([a, v]) => String(value(study, a, r)) === String(v)));
}

// Rows with a result, fastest first; ties within the study's validated error are marked.
export function ranking(study, rows) {
  const done = rows.filter((r) => value(study, "makespan_us", r) !== null);
  done.sort((a, b) => value(study, "makespan_us", a) - value(study, "makespan_us", b) || a - b);
  const best = done.length ? value(study, "makespan_us", done[0]) : 0;
  return done.map((row) => {
    const time = value(study, "makespan_us", row);
    return { row, time, tied: time <= best * (1 + study.tie_pct / 100) };
  });
}

// Rows that compete with each other: equal in every axis.
export function groups(study, rows) {
  const byKey = new Map();
  for (const r of rows) {
    const key = JSON.stringify([...study.axes.map((a) => value(study, a, r)), value(study, "workload", r)]);
    byKey.has(key) ? byKey.get(key).push(r) : byKey.set(key, [r]);
  }
  return [...byKey.values()];
}

export const geomean = (v) => (v.length ? Math.exp(v.reduce((sum, x) => sum + Math.log(x), 0) / v.length) : null);

export const name = (study, row) => value(study, "schedule", row);
export const us = (v) => (v === null ? "–" : v >= 1000 ? `${(v / 1000).toPrecision(4)} ms` : `${v.toPrecision(4)} us`);
export const escapeHtml = (s) => String(s).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
