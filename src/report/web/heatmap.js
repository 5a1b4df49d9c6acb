// Winner of each cell over two chosen axes. Ties within the validated error are shown as ties.
import { distinct, escapeHtml, name, ranking, select, us } from "./data.js";
import { palette, plot } from "./charts.js";

export function heatmap(study, state, onSelect) {
  const schedules = distinct(study, "family");
  let cells = [];
  const family = (row) => study.columns.get("family").values[row];

  const option = () => {
    const shown = select(study, state.fixed);
    const xs = distinct(study, state.x, shown), ys = distinct(study, state.y, shown);
    cells = [];
    ys.forEach((y, j) => xs.forEach((x, i) => {
      const rank = ranking(study, select(study, { ...state.fixed, [state.x]: x, [state.y]: y }));
      if (!rank.length) return;
      const tied = [...new Set(rank.filter((r) => r.tied).map((r) => family(r.row)))];
      cells.push({ value: [i, j, schedules.indexOf(family(rank[0].row))], rank, tied });
    }));
    return {
      grid: { left: 110, right: 20, top: 20, bottom: 70 },
      tooltip: { formatter: (p) => tip(study, cells[p.dataIndex]) },
      xAxis: { type: "category", data: xs.map(String), name: state.x, nameLocation: "middle", nameGap: 28 },
      yAxis: { type: "category", data: ys.map(String), name: state.y, nameLocation: "middle", nameGap: 90 },
      visualMap: {
        type: "piecewise", orient: "horizontal", bottom: 0, left: "center", dimension: 2,
        pieces: schedules.map((s, i) => ({ value: i, label: s, color: palette[i % palette.length] })),
      },
      series: [{
        type: "heatmap", data: cells.map((c) => ({ value: c.value, itemStyle: c.tied.length > 1 ? { decal: { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [3, 5], rotation: 0.8, color: "rgba(255,255,255,0.35)" } } : {} })),
        label: { show: cells.length <= 160, fontSize: 10, color: "#fff", textBorderColor: "#000", textBorderWidth: 1.5, formatter: (p) => short(study, cells[p.dataIndex]) },
        emphasis: { itemStyle: { borderColor: "#000", borderWidth: 2 } },
      }],
    };
  };

  const handle = plot("heatmap", option);
  const bind = () => handle.chart().on("click", (p) => cells[p.dataIndex] && onSelect(cells[p.dataIndex].rank[0].row));
  const draw = handle.draw;
  handle.draw = () => (draw(), bind());
  bind();
  keyboard(handle, () => cells, onSelect);
  return handle;
}

const short = (study, c) => (c.tied.length > 1 ? `tie of ${c.tied.length}` : `${speedup(study, c)}`);

function speedup(study, c) {
  const base = c.rank.find((r) => study.columns.get("family").values[r.row] === study.baseline);
  return base ? `${(base.time / c.rank[0].time).toFixed(2)}x` : "";
}

function tip(study, c) {
  if (!c) return "";
  const lines = c.rank.slice(0, 6).map((r) => `${r.tied ? "● " : ""}${escapeHtml(name(study, r.row))}: ${us(r.time)}`);
  return `${lines.join("<br>")}<br><i>● tied within ${study.tie_pct} %</i>`;
}

// Arrow keys move over the cells, Enter opens the cell.
function keyboard(handle, cells, onSelect) {
  const box = document.getElementById("heatmap");
  let at = 0;
  box.tabIndex = 0;
  box.addEventListener("keydown", (e) => {
    const all = cells();
    const [x, y] = all[at]?.value ?? [0, 0];
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
    if (step) {
      const next = all.findIndex((c) => c.value[0] === x + step[0] && c.value[1] === y + step[1]);
      if (next >= 0) at = next;
      handle.chart().dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: at });
      e.preventDefault();
    } else if (e.key === "Enter" && all[at]) {
      onSelect(all[at].rank[0].row);
    }
  });
}
