"use strict";
(() => {
  const root = document.documentElement;
  const THEMES = ["auto", "light", "dark"];
  const COLUMNS = "page_legend_columns"; // a parameter that every chart is given
  const PRINTED_WIDTH = 680; // pixels; a page of A4 or Letter within its margins

  // Where the page is a file or in a frame, the browser may refuse to keep anything.
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
        // it holds until the page is left
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

  // What is wider than its place is scrolled, also with the keyboard; the rest is no stop for it.
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

  // Without the right to the clipboard, as in a file: select the text, and copy what is selected.
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
        status.textContent = copied ? said : "Selected; copy it with the keyboard";
        button.textContent = said;
        setTimeout(() => {
          button.textContent = "Copy";
          status.textContent = "";
        }, 3000);
      });
      button.hidden = false;
    }
  }

  // The SVG takes colours as they are written, so the page's style says what they are: light, dark
  // and print need no second drawing. Scales that mix colours cannot read variables.
  function chartConfig() {
    const aria = false; // the container has one description of the whole
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
        symbolOpacity: 1, // also of bands, which are pale
        symbolStrokeWidth: 2,
      },
      style: { reference: { stroke: quiet, strokeDash: [4, 3], strokeWidth: 1 } },
    };
  }

  // As many columns as fit, in even rows: names may be long, and phones are narrow. Vega makes room
  // for a legend only if asked again.
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
        ast: true, // expressions are interpreted: the page may not make code of text
        bind: figure.querySelector(".controls"), // not within what is one image to a reader
        config,
        defaultStyle: false,
        renderer: "svg",
        tooltip: { disableDefaultStyle: true, theme: "page" },
      });
      await view.runAsync();
      layOut(chart, view);
      // Vega calls it a document of graphics, whose parts would have names
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
