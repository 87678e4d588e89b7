// Line charts by uPlot, in the colours of the theme.
import uPlot from "uplot";
import { cssVariable, make } from "./dom";

export interface Line {
  name: string;
  colour: string;  // name of a CSS variable
  values: (number | null)[];
  dashed?: boolean;
  stepped?: boolean;
}

export interface ChartOptions {
  title: string;
  note?: string;
  height: number;
  xLabel: string;
  formatX: (x: number) => string;
  formatY: (y: number) => string;
  syncKey?: string;
  logarithmic?: boolean;
}

const kWide = 2400;  // pixels
const kDash = [6, 4];

// Steps of a time axis, seconds.
const kTimeSteps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];

function latest(column: ArrayLike<number | null | undefined>): number | null {
  for (let i = column.length - 1; i >= 0; --i) {
    const value = column[i];
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

// A chart in a box of its own, which follows the width of its place and the theme.
export class Chart {
  readonly element: HTMLElement;
  private readonly place: HTMLElement;
  private readonly summary: HTMLElement;
  private plot: uPlot | null = null;
  private x: number[] = [];
  private lines: Line[] = [];

  constructor(private readonly options: ChartOptions) {
    this.summary = make("p", { class: "visually-hidden" });
    this.place = make("div", { class: "plot" });
    const heading = make("h3", { text: options.title });
    const head = make("div", { class: "card-head" }, [heading]);
    if (options.note !== undefined) head.append(make("p", { class: "note", text: options.note }));
    this.element = make("section", { class: "card chart", attributes: { "aria-label": options.title } }, [
      head, this.place, this.summary,
    ]);
    new ResizeObserver(() => this.resize()).observe(this.place);
  }

  // Draws these lines. Keeps the zoom if the lines are the same ones with more points.
  update(x: (number | null)[], lines: Line[]): void {
    this.x = x.map((value) => value ?? 0);
    const same = this.lines.map((line) => line.name).join() === lines.map((line) => line.name).join();
    this.lines = lines;
    this.summary.textContent = this.describe();
    const data = [this.x, ...lines.map((line) => line.values)] as uPlot.AlignedData;
    if (this.plot === null || !same) {
      this.create(data);
    } else {
      this.plot.setData(data, !this.isZoomed());
    }
  }

  // Takes the colours of the theme anew.
  repaint(): void {
    if (this.plot !== null) this.create(this.plot.data);
  }

  private describe(): string {
    const parts = this.lines.map((line) => {
      const last = latest(line.values);
      return `${line.name}: ${last === null ? "none yet" : this.options.formatY(last)}`;
    });
    return `${this.options.title}, latest values: ${parts.join("; ")}`;
  }

  private isZoomed(): boolean {
    const scale = this.plot?.scales["x"];
    const data = this.plot?.data[0];
    if (scale?.min == null || scale.max == null || data === undefined || data.length === 0) return false;
    return scale.min > data[0]! || scale.max < data[data.length - 1]!;
  }

  private create(data: uPlot.AlignedData): void {
    this.plot?.destroy();
    const { formatX, formatY, xLabel, height, syncKey, logarithmic } = this.options;
    const scale = window.innerWidth >= kWide ? 1.3 : 1;  // as style.css scales texts
    const axis = { stroke: cssVariable("--muted"), grid: { stroke: cssVariable("--grid"), width: 1 },
                   ticks: { stroke: cssVariable("--grid"), width: 1, size: 4 },
                   font: `${12 * scale}px system-ui, sans-serif`, labelFont: `${12 * scale}px system-ui, sans-serif` };
    this.plot = new uPlot(
      {
        width: Math.max(200, this.place.clientWidth),
        height: height * scale,
        cursor: { points: { size: 6 }, drag: { x: true, y: false },
                  ...(syncKey === undefined ? {} : { sync: { key: syncKey, setSeries: false } }) },
        legend: { live: true, markers: { width: 0, fill: (_, i) => cssVariable(this.lines[i - 1]?.colour ?? "--muted") } },
        scales: { x: { time: false }, y: logarithmic === true ? { distr: 3 } : {} },
        axes: [
          { ...axis, label: xLabel, labelSize: 18 * scale, size: 30 * scale, space: 70 * scale, incrs: kTimeSteps,
            values: (_, ticks) => ticks.map(formatX) },
          { ...axis, size: 62 * scale, space: 28 * scale,
            values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : formatY(tick))) },
        ],
        series: [
          { label: xLabel, value: (_, value) => (value === null ? "latest" : formatX(value)) },
          ...this.lines.map((line): uPlot.Series => ({
            label: line.name,
            stroke: cssVariable(line.colour),
            width: line.dashed === true ? 1.5 : 2,
            ...(line.dashed === true ? { dash: kDash } : {}),
            ...(line.stepped === true ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
            spanGaps: true,
            points: { show: (plot) => plot.data[0].length === 1 },
            // Without the pointer, the latest value.
            value: (plot, value, series, index) => {
              const shown = index === null ? latest(plot.data[series]!) : value;
              return shown === null ? "–" : formatY(shown);
            },
          })),
        ],
      },
      data, this.place,
    );
    this.nameLegend();
  }

  // uPlot's legend switches lines on and off by clicks only; this makes it work by keyboard.
  private nameLegend(): void {
    const rows = this.place.querySelectorAll<HTMLElement>(".u-legend .u-series");
    rows.forEach((row, index) => {
      const head = row.querySelector<HTMLElement>("th");
      if (head === null || index === 0) return;
      head.tabIndex = 0;
      head.setAttribute("role", "button");
      head.setAttribute("aria-pressed", "true");
      head.setAttribute("aria-label", `Show ${this.lines[index - 1]?.name ?? ""}`);
      const note = (): void => head.setAttribute("aria-pressed", String(!row.classList.contains("u-off")));
      head.addEventListener("click", () => setTimeout(note));
      head.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        head.click();
      });
    });
  }

  private resize(): void {
    const width = this.place.clientWidth;
    if (this.plot !== null && width > 0 && width !== this.plot.width) {
      this.plot.setSize({ width, height: this.plot.height });
    }
  }
}
