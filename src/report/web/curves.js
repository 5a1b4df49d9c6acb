// Speed-up over the baseline along one axis, per family the best of its instances, with bound and closed form.
import { distinct, ranking, select, value } from "./data.js";
import { plot } from "./charts.js";

export function curves(study, state) {
  return plot("curves", () => {
    const xs = distinct(study, state.curve, select(study, state.fixed));
    const families = distinct(study, "family");
    const at = (x) => select(study, { ...state.fixed, ...state.cell, [state.curve]: x });
    const best = (rows) => ranking(study, rows)[0];
    const points = xs.map((x) => {
      const rows = at(x);
      const of = (f) => best(rows.filter((r) => value(study, "family", r) === f));
      return { rows, of, base: of(study.baseline)?.time ?? null };
    });
    const line = (f) => points.map((p) => {
      const b = p.of(f);
      return b && p.base ? p.base / b.time : null;
    });
    const spread = (f) => points.map((p, i) => {
      const b = p.of(f);
      const lo = b && value(study, "p10_us", b.row), hi = b && value(study, "p90_us", b.row);
      return lo && hi && hi > lo && p.base ? [i, p.base / hi, p.base / lo] : null;
    }).filter(Boolean);
    const dashed = (label, column) => ({
      name: label, type: "line", lineStyle: { type: "dashed" }, symbol: "none",
      data: points.map((p) => {
        const b = best(p.rows);
        const v = b && value(study, column, b.row);
        return v && p.base ? p.base / v : null;
      }),
    });
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
