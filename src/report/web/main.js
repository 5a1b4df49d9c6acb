// The page: selectors on top of each plot, one shared state, everything from the embedded study.
import { TabulatorFull as Tabulator } from "tabulator-tables";
import tableCss from "tabulator-tables/dist/css/tabulator_simple.min.css";
import pageCss from "./page.css";
import { confusion, pareto, tornado, waterfall } from "./breakdown.js";
import { drawAll } from "./charts.js";
import { curves } from "./curves.js";
import { distinct, load, value } from "./data.js";
import { heatmap } from "./heatmap.js";
import { timeline } from "./timeline.js";

const style = document.createElement("style");
style.textContent = tableCss + pageCss;
document.head.append(style);

const study = load();
const varied = study.axes.filter((a) => distinct(study, a).length > 1);
const axes = varied.length ? varied : study.axes;
const prefer = (names, other) => names.find((n) => axes.includes(n)) ?? other;
const across = prefer(["tokens"], axes[0]);
const state = { x: across, y: prefer(["tp", "out", "in"], axes.find((a) => a !== across) ?? across), curve: across, fixed: {}, cell: {}, timeline: 0, selector: 0 };

document.title = study.title;
document.getElementById("title").textContent = study.title;
document.getElementById("subtitle").textContent = `${study.n} experiments, ${study.program}`;
for (const text of study.findings) {
  const p = document.createElement("p");
  p.textContent = text;
  document.getElementById("findings").append(p);
}

const plots = {};
const redraw = () => Object.values(plots).forEach((p) => p.redraw());

function chooser(bar, label, options, current, onChange) {
  const wrap = document.createElement("label");
  wrap.textContent = `${label} `;
  const box = document.createElement("select");
  box.setAttribute("aria-label", label);
  for (const [text, v] of options) box.add(new Option(text, v));
  box.value = current;
  box.onchange = () => (onChange(box.value), redraw());
  wrap.append(box);
  document.getElementById(bar).append(wrap);
  return box;
}

const names = axes.map((a) => [a, a]);
chooser("heatmap-bar", "across", names, state.x, (v) => (state.x = v));
chooser("heatmap-bar", "up", names, state.y, (v) => (state.y = v));
for (const a of axes) {
  chooser("filter-bar", a, [["all", ""], ...distinct(study, a).map((v) => [String(v), String(v)])], "", (v) => (state.fixed[a] = v === "" ? null : v));
}
chooser("curves-bar", "along", names, state.curve, (v) => (state.curve = v));
if (study.timelines.length) chooser("timeline-bar", "experiment", study.timelines.map((t, i) => [t.title, i]), 0, (v) => (state.timeline = Number(v)));
if (study.selectors.length) chooser("confusion-bar", "selector", study.selectors.map((s, i) => [s.name, i]), 0, (v) => (state.selector = Number(v)));

function choose(row) {
  state.cell = Object.fromEntries(study.axes.map((a) => [a, value(study, a, row)]));
  document.getElementById("chosen").textContent = `Chosen cell: ${Object.entries(state.cell).map(([a, v]) => `${a} = ${v}`).join(", ")}`;
  const kept = study.timelines.findIndex((t) => t.row === row);
  if (kept >= 0) state.timeline = kept;
  redraw();
}

plots.heatmap = heatmap(study, state, choose);
plots.curves = curves(study, state);
plots.timeline = timeline(study, state);
plots.waterfall = waterfall(study, state);
plots.confusion = confusion(study, state);
plots.tornado = tornado(study);
plots.pareto = pareto(study, state);

const shown = [...study.columns.values()];
const table = new Tabulator("#table", {
  data: study.rows.map((r) => Object.fromEntries(shown.map((c) => [c.name, c.values[r]]))),
  columns: shown.map((c) => ({
    title: c.unit ? `${c.name} (${c.unit})` : c.name, field: c.name, headerFilter: "input", headerFilterFunc: c.type === "number" ? numeric : "like",
    sorter: c.type === "number" ? "number" : "string", hozAlign: c.type === "number" ? "right" : "left",
    formatter: (cell) => (typeof cell.getValue() === "number" && !Number.isInteger(cell.getValue()) ? cell.getValue().toPrecision(5) : (cell.getValue() ?? "")),
  })),
  nestedFieldSeparator: false, height: 480, layout: "fitDataFill", initialSort: [{ column: "makespan_us", dir: "asc" }],
});

// "> 100", "<= 3", "1..5" or part of the number's text.
function numeric(filter, v) {
  const text = filter.trim();
  const range = text.match(/^(-?[\d.e+]+)\.\.(-?[\d.e+]+)$/i);
  if (range) return v >= Number(range[1]) && v <= Number(range[2]);
  const compare = text.match(/^(<=|>=|<|>|=)\s*(-?[\d.e+-]+)$/);
  if (!compare) return String(v ?? "").startsWith(text);
  const n = Number(compare[2]);
  return { "<": v < n, ">": v > n, "<=": v <= n, ">=": v >= n, "=": v === n }[compare[1]];
}
window.overlapsimTable = table;

const root = document.documentElement;
const themeButton = document.getElementById("theme");
const setTheme = (t) => {
  root.dataset.theme = t;
  themeButton.textContent = t === "dark" ? "Light" : "Dark";
  drawAll();
};
themeButton.onclick = () => setTheme(root.dataset.theme === "dark" ? "light" : "dark");
if (window.matchMedia("(prefers-color-scheme: dark)").matches) setTheme("dark");
root.dataset.rendered = "1";
