// Timeline of one experiment: a row a lane, ops coloured by kind, utilization of the links under it; wheel zooms, drag pans.
import { escapeHtml, us } from "./data.js";
import { palette, plot } from "./charts.js";
import * as echarts from "echarts";

const kinds = ["gemm", "transfer", "collective", "elementwise"];

export function timeline(study, state) {
  return plot("timeline", () => {
    const t = study.timelines[state.timeline];
    if (!t) return { title: { text: "No timeline was kept for this study", left: "center", top: "middle" } };
    const lanes = t.lanes.map((l) => l.name);
    const used = t.links.slice(0, 12);
    return {
      tooltip: { formatter: (p) => (p.seriesType === "custom" ? tip(t, p) : `${escapeHtml(p.seriesName)}: ${(100 * p.value[1]).toFixed(0)} %`) },
      legend: { data: kinds, top: 0 },
      grid: [{ left: 150, right: 20, top: 30, height: "58%" }, { left: 150, right: 20, top: "74%", height: "16%" }],
      xAxis: [{ type: "value", max: t.makespan_us, gridIndex: 0, axisLabel: { show: false } }, { type: "value", max: t.makespan_us, gridIndex: 1, axisLabel: { formatter: (v) => String(Math.round(v * 10) / 10) }, name: "us", nameLocation: "middle", nameGap: 20 }],
      yAxis: [{ type: "category", data: lanes, inverse: true, gridIndex: 0 }, { type: "value", max: 1, gridIndex: 1, name: "link utilization" }],
      dataZoom: [{ type: "inside", xAxisIndex: [0, 1], filterMode: "weakFilter" }, { type: "slider", xAxisIndex: [0, 1], bottom: 0, height: 14 }],
      series: [...kinds.map((kind, i) => gantt(t, kind, i)), ...used.map((l) => ({ name: l.name, type: "line", step: "end", xAxisIndex: 1, yAxisIndex: 1, symbol: "none", lineStyle: { width: 1 }, data: l.at_us.map((x, i) => [x, l.utilization[i]]) }))],
    };
  });
}

const gantt = (t, kind, i) => ({
  name: kind, type: "custom", itemStyle: { color: palette[i] }, xAxisIndex: 0, yAxisIndex: 0,
  encode: { x: [1, 2], y: 0 },
  data: t.ops.flatMap((o, index) => (o.kind === kind ? [[o.lane, o.begin_us, o.end_us, index]] : [])),
  renderItem: (params, api) => {
    const from = api.coord([api.value(1), api.value(0)]), to = api.coord([api.value(2), api.value(0)]);
    const height = api.size([0, 1])[1] * 0.7;
    const box = { x: from[0], y: from[1] - height / 2, width: Math.max(to[0] - from[0], 0.5), height };
    const area = params.coordSys;
    const shape = echarts.graphic.clipRectByRect(box, { x: area.x, y: area.y, width: area.width, height: area.height });
    return shape && { type: "rect", shape, style: { fill: api.visual("color"), stroke: "#0006", lineWidth: 0.5 } };
  },
});

function tip(t, p) {
  const o = t.ops[p.value[3]];
  return `${escapeHtml(o.label)}<br>${us(o.begin_us)} to ${us(o.end_us)}: ${us(o.end_us - o.begin_us)}`;
}
