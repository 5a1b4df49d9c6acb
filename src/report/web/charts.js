// One ECharts instance a plot, with the theme of the page and buttons that save it as SVG and PNG.
import * as echarts from "echarts";

export const palette = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999933", "#882255", "#44aa99", "#dd7788", "#117733", "#88ccee"];
const charts = [];

const dark = () => document.documentElement.dataset.theme === "dark";

export function plot(id, makeOption) {
  const box = document.getElementById(id);
  let chart = null;
  const draw = () => {
    chart?.dispose();
    chart = echarts.init(box, dark() ? "dark" : null, { renderer: "svg" });
    redraw();
  };
  const redraw = () => {
    const option = makeOption();
    chart.setOption({ backgroundColor: "transparent", color: palette, animation: false, aria: { enabled: true }, ...option }, true);
    box.dataset.ready = "1";
  };
  draw();
  const handle = { draw, redraw, chart: () => chart };
  charts.push(handle);
  addSaveButtons(box, handle);
  return handle;
}

export function drawAll() {
  for (const c of charts) c.draw();
}

window.addEventListener("resize", () => charts.forEach((c) => c.chart().resize()));

function addSaveButtons(box, handle) {
  const bar = document.createElement("div");
  bar.className = "save";
  for (const type of ["svg", "png"]) {
    const button = document.createElement("button");
    button.textContent = type.toUpperCase();
    button.title = `Save this plot as ${type.toUpperCase()}`;
    button.onclick = () => save(box, handle.chart(), type);
    bar.append(button);
  }
  box.after(bar);
}

function download(url, file) {
  const a = document.createElement("a");
  a.href = url;
  a.download = file;
  a.click();
}

function save(box, chart, type) {
  const svg = chart.renderToSVGString();
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  if (type === "svg") return download(url, `${box.id}.svg`);
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = 2 * chart.getWidth();
    canvas.height = 2 * chart.getHeight();
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    download(canvas.toDataURL("image/png"), `${box.id}.png`);
  };
  image.src = url;
}
