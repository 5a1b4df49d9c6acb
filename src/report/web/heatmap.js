// Winner of each cell over two chosen axes: the family that wins most of the cases in it. Ties are shown as ties.
import { distinct, escapeHtml, geomean, groups, name, ranking, select, us } from "./data.js";
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
      const c = cell(study, groups(study, select(study, { ...state.fixed, [state.x]: x, [state.y]: y })), family);
      if (c) cells.push({ ...c, value: [i, j, schedules.indexOf(c.tied[0])] });
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
  const bind = () => handle.chart().on("click", (p) => cells[p.dataIndex] && onSelect(cells[p.dataIndex].row));
  const draw = handle.draw;
  handle.draw = () => (draw(), bind());
  bind();
  keyboard(handle, () => cells, onSelect);
  return handle;
}

// What wins the groups of a cell: wins by family (a tie within the margin counts for all in it), families with the most.
function cell(study, cases, family) {
  const wins = new Map();
  const speedups = [];
  let first = null;
  for (const rows of cases) {
    const rank = ranking(study, rows);
    if (!rank.length) continue;
    first ??= rank;
    for (const f of new Set(rank.filter((r) => r.tied).map((r) => family(r.row)))) wins.set(f, (wins.get(f) ?? 0) + 1);
    const base = rank.find((r) => family(r.row) === study.baseline);
    if (base) speedups.push(base.time / rank[0].time);
  }
  if (!first) return null;
  const order = [...wins].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return { wins: order, tied: order.filter((w) => w[1] === order[0][1]).map((w) => w[0]), speedup: geomean(speedups), row: first[0].row, rank: cases.length === 1 ? first : null };
}

const short = (study, c) => (c.tied.length > 1 ? `tie of ${c.tied.length}` : c.speedup ? `${c.speedup.toFixed(2)}x` : "");

function tip(study, c) {
  if (!c) return "";
  const lines = c.rank
    ? c.rank.slice(0, 6).map((r) => `${r.tied ? "● " : ""}${escapeHtml(name(study, r.row))}: ${us(r.time)}`)
    : c.wins.map(([f, n]) => `${escapeHtml(f)}: best or tied in ${n} cases`);
  return `${lines.join("<br>")}<br><i>tied: within ${study.tie_pct.toFixed(2)} %; mean speed-up of the best ${c.speedup ? c.speedup.toFixed(3) : "–"}x</i>`;
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
      onSelect(all[at].row);
    }
  });
}
