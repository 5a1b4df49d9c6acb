// Where the time goes (waterfall of phases), selector confusion matrix, tornado of uncertain inputs, Pareto front.
import { distinct, escapeHtml, groups, name, ranking, select, us, value } from "./data.js";
import { plot } from "./charts.js";

// The chosen case, or the first that the filters leave.
const chosen = (study, state) => groups(study, select(study, { ...state.fixed, ...state.cell }))[0] ?? [];

export function waterfall(study, state) {
  const phases = study.columns.get("makespan_us") ? study.phases : [];
  return plot("waterfall", () => {
    const rows = ranking(study, chosen(study, state)).slice(0, 14).map((r) => r.row);
    return {
      grid: { left: 230, right: 30, top: 50, bottom: 40 }, legend: { type: "scroll", top: 0 },
      tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, valueFormatter: us },
      xAxis: { type: "value", name: "us" },
      yAxis: { type: "category", inverse: true, data: rows.map((r) => name(study, r)), axisLabel: { width: 220, overflow: "truncate" } },
      series: phases.map((p) => ({ name: p.replace(/_us$/, "").replaceAll("_", " "), type: "bar", stack: "phases", data: rows.map((r) => value(study, p, r)) })),
    };
  });
}

export function confusion(study, state) {
  return plot("confusion", () => {
    const s = study.selectors[state.selector];
    if (!s) return { title: { text: "This study names no selector", left: "center", top: "middle" } };
    const picks = [...new Set(s.cases.flatMap((c) => [c.pick, c.best]))].sort();
    const count = new Map();
    for (const c of s.cases) count.set(`${c.pick}|${c.best}`, (count.get(`${c.pick}|${c.best}`) ?? 0) + 1);
    const data = picks.flatMap((p, j) => picks.map((b, i) => [i, j, count.get(`${p}|${b}`) ?? 0]));
    return {
      title: { top: 0, text: `top-1 ${s.top1_pct.toFixed(1)} %, mean regret ${s.regret_mean_pct.toFixed(2)} %, worst ${s.regret_max_pct.toFixed(1)} %`, textStyle: { fontSize: 13 }, left: "center" },
      grid: { left: 170, right: 20, top: 40, bottom: 60 }, tooltip: { formatter: (p) => `picked ${escapeHtml(picks[p.value[1]])}, best was ${escapeHtml(picks[p.value[0]])}: ${p.value[2]} cases` },
      xAxis: { type: "category", data: picks, name: "best in simulation", nameLocation: "middle", nameGap: 35 },
      yAxis: { type: "category", data: picks, name: "picked", nameLocation: "middle", nameGap: 150 },
      visualMap: { min: 0, max: Math.max(1, ...data.map((d) => d[2])), show: false, inRange: { color: ["#8884", "#4477aa"] } },
      series: [{ type: "heatmap", data, label: { show: true } }],
    };
  });
}

export function tornado(study) {
  return plot("tornado", () => {
    const rows = [...study.tornado].sort((a, b) => Math.abs(b.high_pct - b.low_pct) - Math.abs(a.high_pct - a.low_pct));
    if (!rows.length) return { title: { text: "No parameter was marked uncertain", left: "center", top: "middle" } };
    return {
      grid: { left: 230, right: 40, top: 20, bottom: 40 }, tooltip: { valueFormatter: (v) => `${v.toFixed(2)} %` },
      xAxis: { type: "value", name: "% of time" },
      yAxis: { type: "category", inverse: true, data: rows.map((r) => r.parameter), axisLabel: { width: 220, overflow: "truncate" } },
      series: [{ name: "low value", type: "bar", stack: "t", data: rows.map((r) => r.low_pct) }, { name: "high value", type: "bar", stack: "t", data: rows.map((r) => r.high_pct) }],
    };
  });
}

export function pareto(study, state) {
  return plot("pareto", () => {
    const rows = ranking(study, chosen(study, state));
    let least = Infinity;
    const front = new Set(rows.filter(({ row }) => {
      const memory = value(study, "extra_memory_bytes", row) ?? 0;
      return memory < least && ((least = memory), true);
    }).map((r) => r.row));
    const point = (r) => ({ value: [(value(study, "extra_memory_bytes", r.row) ?? 0) / 1048576, r.time], name: name(study, r.row) });
    return {
      grid: { left: 70, right: 30, top: 40, bottom: 50 }, legend: { top: 0 }, tooltip: { formatter: (p) => `${escapeHtml(p.name)}<br>${us(p.value[1])}, ${p.value[0].toFixed(1)} MiB` },
      xAxis: { type: "value", name: "extra memory a device, MiB", nameLocation: "middle", nameGap: 28 }, yAxis: { type: "value", name: "time, us", scale: true },
      series: [{ name: "on the Pareto front", type: "scatter", symbolSize: 12, data: rows.filter((r) => front.has(r.row)).map(point) }, { name: "dominated", type: "scatter", symbolSize: 7, data: rows.filter((r) => !front.has(r.row)).map(point) }],
    };
  });
}

export const hasManyFamilies = (study) => distinct(study, "family").length > 1;
