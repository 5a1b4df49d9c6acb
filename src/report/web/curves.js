// Speed-up over the baseline along one axis, per family the best of its instances (geometric mean over the cases), with
// bound and closed form.
import { distinct, geomean, groups, ranking, select, value } from "./data.js";
import { plot } from "./charts.js";

export function curves(study, state) {
  return plot("curves", () => {
    const xs = distinct(study, state.curve, select(study, state.fixed));
    const families = distinct(study, "family");
    const family = (r) => value(study, "family", r);
    // Per x: every case with its ranking and its baseline's time.
    const points = xs.map((x) => groups(study, select(study, { ...state.fixed, [state.curve]: x })).map((rows) => {
      const rank = ranking(study, rows);
      return { rank, base: rank.find((r) => family(r.row) === study.baseline)?.time };
    }).filter((c) => c.base));
    const mean = (pick) => points.map((cases) => geomean(cases.map((c) => [c.base, pick(c)]).filter(([, t]) => t).map(([base, t]) => base / t)));
    const best = (f) => (c) => c.rank.find((r) => family(r.row) === f);
    const line = (f) => mean((c) => best(f)(c)?.time);
    const column = (f, n) => mean((c) => best(f)(c) && value(study, n, best(f)(c).row));
    const spread = (f) => {
      const lo = column(f, "p10_us"), hi = column(f, "p90_us");
      return points.map((_, i) => (lo[i] && hi[i] && lo[i] > hi[i] * 1.0001 ? [i, hi[i], lo[i]] : null)).filter(Boolean);
    };
    const dashed = (label, n) => ({ name: label, type: "line", lineStyle: { type: "dashed" }, symbol: "none", data: mean((c) => c.rank.length && value(study, n, c.rank[0].row)) });
    const bars = families.filter((f) => spread(f).length).map((f) => errorBars(f, spread(f)));
    return {
      grid: { left: 60, right: 20, top: 60, bottom: 50 }, legend: { type: "scroll", top: 0 }, tooltip: { trigger: "axis", valueFormatter: (v) => (typeof v === "number" ? `${v.toFixed(3)}x` : "–") },
      xAxis: { type: "category", data: xs.map(String), name: state.curve, nameLocation: "middle", nameGap: 28 },
      yAxis: { type: "value", name: `speed-up over ${study.baseline}`, scale: true },
      series: [...families.map((f) => ({ name: f, type: "line", data: line(f), connectNulls: true })), dashed("lower bound of the time", "lower_bound_us"), dashed("closed form of the winner", "closed_form_us"), ...bars],
    };
  });
}

const errorBars = (family, data) => ({
  name: family, type: "custom", data, z: 5, tooltip: { show: false },
  renderItem: (params, api) => {
    const lo = api.coord([api.value(0), api.value(1)]), hi = api.coord([api.value(0), api.value(2)]);
    const style = { stroke: api.visual("color"), fill: null };
    const tick = (p) => ({ type: "line", shape: { x1: p[0] - 4, y1: p[1], x2: p[0] + 4, y2: p[1] }, style });
    return { type: "group", children: [{ type: "line", shape: { x1: lo[0], y1: lo[1], x2: hi[0], y2: hi[1] }, style }, tick(lo), tick(hi)] };
  },
  encode: { x: 0, y: [1, 2] },
});
