"use strict";
(() => {
  const root = document.documentElement;
  const THEMES = ["auto", "light", "dark"];
  const COLUMNS = "page_legend_columns"; // a parameter added to every chart
  const PRINTED_WIDTH = 680; // pixels; width of A4 or Letter paper inside the margins

  // Browsers may refuse storage to pages opened from a file or inside a frame.
  const kept = {
    get() {
      try {
        return localStorage.getItem("sqlmetrics-theme");
      } catch {
        return null;
      }
    },
    set(theme) {
      try {
        localStorage.setItem("sqlmetrics-theme", theme);
      } catch {
        // without storage, the theme applies until the page is closed
      }
    },
  };

  function setTheme(theme) {
    root.dataset.theme = THEMES.includes(theme) ? theme : "auto";
  }

  function themeButton() {
    const button = document.querySelector(".theme");
    const name = () => {
      button.textContent = `Theme: ${root.dataset.theme}`;
    };
    button.addEventListener("click", () => {
      setTheme(THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length]);
      kept.set(root.dataset.theme);
      name();
    });
    name();
    button.hidden = false;
  }

  // Elements that overflow can be scrolled with the keyboard; other elements are no tab stops.
  function scrolledPlaces() {
    const watch = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        if (target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight) {
          target.tabIndex = 0;
        } else {
          target.removeAttribute("tabindex");
        }
      }
    });
    document.querySelectorAll(".scroll").forEach((place) => watch.observe(place));
  }

  // Without clipboard permission, for example in a local file, select the text and copy it.
  async function copy(element) {
    try {
      await navigator.clipboard.writeText(element.textContent);
      return true;
    } catch {
      const selection = getSelection();
      selection.selectAllChildren(element);
      const copied = document.execCommand("copy");
      if (copied) selection.removeAllRanges();
      return copied;
    }
  }

  function copyButtons() {
    const status = document.querySelector("[role=status]");
    for (const button of document.querySelectorAll(".copy")) {
      button.addEventListener("click", async () => {
        const copied = await copy(button.parentElement.querySelector("code"));
        const said = copied ? "Copied" : "Selected";
        status.textContent = copied ? said : "Selected; press Ctrl+C to copy";
        button.textContent = said;
        setTimeout(() => {
          button.textContent = "Copy";
          status.textContent = "";
        }, 3000);
      });
      button.hidden = false;
    }
  }

  // Charts use CSS variables as colours, so themes and printing need no redrawing. Scales that
  // interpolate colours cannot read variables.
  function chartConfig() {
    const aria = false; // the container has one description of the whole chart
    const ink = "var(--ink)";
    const quiet = "var(--muted)";
    const font = getComputedStyle(document.body).fontFamily;
    const models = Array.from({ length: 10 }, (_, n) => `var(--c${n + 1})`);
    return {
      background: null,
      font,
      padding: 2,
      view: { stroke: null },
      mark: { aria, color: models[0] },
      text: { fill: ink, fontSize: 12 },
      rule: { color: quiet },
      range: {
        category: models,
        ordinal: models,
        diverging: ["var(--loss)", "var(--tie)", "var(--win)"],
      },
      axis: {
        aria,
        domainColor: "var(--line-strong)",
        gridColor: "var(--line)",
        tickColor: "var(--line-strong)",
        tickSize: 4,
        labelColor: quiet,
        labelFontSize: 12,
        labelLimit: 160,
        labelPadding: 6,
        labelSeparation: 4,
        titleColor: quiet,
        titleFontSize: 12,
        titleFontWeight: "normal",
        titlePadding: 10,
      },
      axisY: { domain: false, ticks: false },
      header: { labelColor: ink, labelFontSize: 12, titleColor: quiet, titleFontWeight: "normal" },
      title: { color: ink, fontSize: 13, anchor: "start" },
      legend: {
        aria,
        orient: "top",
        direction: "horizontal",
        columns: { expr: COLUMNS },
        columnPadding: 16,
        labelColor: ink,
        labelFontSize: 12,
        labelLimit: 140,
        titleColor: quiet,
        titleFontSize: 12,
        titleFontWeight: "normal",
        symbolOpacity: 1, // also for bands, whose marks are transparent
        symbolStrokeWidth: 2,
      },
      style: { reference: { stroke: quiet, strokeDash: [4, 3], strokeWidth: 1 } },
    };
  }

  // Lay out the legend in even rows with as many columns as fit the chart. Vega reserves space for
  // the legend only after `resize`.
  function layOut(chart, view) {
    const labels = [...chart.querySelectorAll(".role-legend-label text")];
    if (labels.length > 0) {
      const widest = Math.max(...labels.map((label) => label.getComputedTextLength())) + 40;
      const rows = Math.ceil(labels.length / Math.max(1, Math.floor(view.width() / widest)));
      view.signal(COLUMNS, Math.ceil(labels.length / rows)).run();
    }
    view.resize().run();
  }

  async function draw(figure, config) {
    const chart = figure.querySelector(".chart");
    const label = chart.getAttribute("aria-label");
    try {
      const spec = JSON.parse(figure.querySelector(".spec").textContent);
      spec.params = [...(spec.params ?? []), { name: COLUMNS, value: 1 }];
      const { view } = await window.vegaEmbed(chart, spec, {
        mode: "vega-lite",
        actions: false,
        ast: true, // interpret expressions, because the policy of the page forbids eval
        bind: figure.querySelector(".controls"), // outside the element with role img
        config,
        defaultStyle: false,
        renderer: "svg",
        tooltip: { disableDefaultStyle: true, theme: "page" },
      });
      await view.runAsync();
      layOut(chart, view);
      // Vega sets role graphics-document, which expects named parts
      chart.setAttribute("role", "img");
      chart.setAttribute("aria-label", label);
      chart.removeAttribute("aria-roledescription");
      return { chart, view };
    } catch (error) {
      chart.removeAttribute("role");
      chart.removeAttribute("aria-label");
      chart.className = "chart failed";
      chart.textContent = `This chart could not be drawn (${error.message}).`;
      return null;
    }
  }

  async function drawCharts() {
    const config = chartConfig();
    const figures = [...document.querySelectorAll("figure:has(.spec)")];
    const drawn = (await Promise.all(figures.map((f) => draw(f, config)))).filter(Boolean);
    const fit = (widthOf) => {
      for (const { chart, view } of drawn) {
        view.width(widthOf(chart)).run();
        layOut(chart, view);
      }
    };
    const fitPlace = () => fit((chart) => chart.clientWidth);
    let waiting = 0;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(fitPlace, 100);
    });
    addEventListener("beforeprint", () => fit(() => PRINTED_WIDTH));
    addEventListener("afterprint", fitPlace);
    root.dataset.drawn = String(drawn.length);
  }

  setTheme(kept.get());
  document.addEventListener("DOMContentLoaded", () => {
    themeButton();
    scrolledPlaces();
    copyButtons();
    drawCharts();
  });
})();
