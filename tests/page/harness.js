// Drives the page as a reader would and leaves what it found in <body data-result>.
(async () => {
  const problems = [];
  const expect = (ok, what) => ok || problems.push(what);
  const pause = () => new Promise((done) => setTimeout(done, 400));
  try {
    expect(document.documentElement.dataset.rendered === "1", "the page did not finish");
    for (const id of ["heatmap", "curves", "timeline", "waterfall", "confusion", "pareto", "tornado"]) {
      const box = document.getElementById(id);
      expect(box.dataset.ready === "1", `${id} was not drawn`);
      expect(box.querySelectorAll("svg *").length > 3, `${id} is empty`);
    }
    const table = window.overlapsimTable;
    const all = table.getDataCount();
    expect(all > 0, "the table is empty");
    const families = new Set(table.getData().map((r) => r.family));
    table.setHeaderFilterValue("family", [...families][0]);
    await pause();
    const some = table.getDataCount("active");
    expect(some > 0 && (families.size === 1 || some < all), `filtering kept ${some} of ${all} rows`);
    table.setHeaderFilterValue("family", "");
    table.setSort("makespan_us", "desc");
    await pause();
    const times = table.getData("active").map((r) => r.makespan_us).filter((v) => v !== null);
    expect(times.every((v, i) => i === 0 || times[i - 1] >= v), `sorting by makespan_us failed: ${times.slice(0, 8)}`);

    const before = document.getElementById("timeline").innerHTML;
    const svg = document.querySelector("#timeline svg");
    svg.scrollIntoView();
    const area = svg.getBoundingClientRect();
    const at = { clientX: area.left + area.width / 2, clientY: area.top + area.height / 3, bubbles: true, cancelable: true };
    svg.dispatchEvent(new MouseEvent("mousemove", at));
    svg.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: -240 }));
    await pause();
    expect(document.getElementById("timeline").innerHTML !== before, "the wheel did not zoom the timeline");

    const select = document.querySelector("#filter-bar select");
    if (select && select.options.length > 1) {
      const drawn = document.getElementById("curves").innerHTML;
      select.value = select.options[1].value;
      select.dispatchEvent(new Event("change"));
      await pause();
      expect(document.getElementById("curves").innerHTML !== drawn || select.options.length === 2, "a filter changed nothing");
    }
    const theme = document.documentElement.dataset.theme;
    document.getElementById("theme").click();
    await pause();
    expect(document.documentElement.dataset.theme !== theme, "the theme did not change");
    document.getElementById("heatmap").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    document.getElementById("heatmap").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    await pause();
    expect(document.getElementById("chosen").textContent.startsWith("Chosen cell"), "Enter on the heat map chose nothing");
  } catch (e) {
    problems.push(`the test stopped: ${e.stack}`);
  }
  problems.push(...window.pageErrors);
  document.body.dataset.result = problems.length ? problems.join(" | ") : "fine";
})();
