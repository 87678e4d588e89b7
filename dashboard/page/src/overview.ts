// The first view: whether the run learns, what blocks it, how fast it is, and its programs.
import { ask, type CurveName, type Finding, type Gains, type ProgramRow, type Run } from "./api";
import { Chart, type Line } from "./charts";
import { make, showChildren, showOptions } from "./dom";
import { formatCount, formatClock, formatDuration, formatGain, formatPercent, formatShort, toNumbers } from "./format";
import { mapAddress } from "./routes";

const kCurves: { title: string; note: string; lines: [CurveName, string, string][]; format: (y: number) => string }[] = [
  { title: "Losses", note: "cross-entropy of each head, nats",
    lines: [["policy_loss", "policy", "--c-policy"], ["value_loss", "value", "--c-best"], ["reward_loss", "reward", "--c-self"]],
    format: formatShort },
  { title: "Value error", note: "mean |predicted − target|, in units of the baseline",
    lines: [["value_error", "value error", "--c-policy"]], format: formatShort },
  { title: "Games", note: "self-play and evaluation, per second",
    lines: [["games_per_second", "games/s", "--c-best"]], format: formatShort },
  { title: "Simulations", note: "per second of play; in a cluster, of all time",
    lines: [["simulations_per_second", "simulations/s", "--c-self"]], format: formatShort },
  { title: "Replay", note: "games that are stored for the learner",
    lines: [["replay_games", "games", "--c-policy"]], format: formatShort },
  { title: "Time playing", note: "share of the time of playing and learning",
    lines: [["playing_percent", "playing", "--c-self"]], format: (y) => formatPercent(y, 0) },
  { title: "Gradient norm", note: "before it is clipped",
    lines: [["gradient_norm", "norm", "--c-policy"]], format: formatShort },
  { title: "Batches of self-play", note: "rows in a network call",
    lines: [["batch_fill", "rows", "--c-best"]], format: formatShort },
];

interface Tile { name: string; value: string; detail: string }

function lastOf(column: readonly (number | "NaN")[]): number | undefined {
  for (let i = column.length - 1; i >= 0; --i) {
    const value = column[i];
    if (typeof value === "number") return value;
  }
  return undefined;
}

function tilesOf(run: Run): Tile[] {
  const speed = lastOf(run.curves.games_per_second);
  const simulations = lastOf(run.curves.simulations_per_second);
  const local = run.mean.local_search;
  return [
    { name: "Best mapping", value: formatGain(lastOf(run.mean.best)),
      detail: run.programs.length === 1 ? "cycles saved" : `cycles saved, mean of ${run.programs.length} programs` },
    { name: "Policy with search", value: formatGain(lastOf(run.mean.policy)),
      detail: `self-play ${formatGain(lastOf(run.mean.self_play))}` },
    { name: "To beat", value: formatGain(local ?? run.mean.greedy),
      detail: local === undefined ? "greedy solver" : `local search; greedy ${formatGain(run.mean.greedy)}` },
    { name: "Games", value: formatShort(run.games), detail: speed === undefined ? "" : `${formatShort(speed)}/s` },
    { name: "Simulations", value: simulations === undefined ? "–" : `${formatShort(simulations)}/s`,
      detail: `${formatShort(run.decisions)} decisions` },
    { name: "Updates", value: formatCount(run.updates), detail: `iteration ${formatCount(run.iteration)}` },
    { name: "Time", value: formatDuration(run.seconds),
      detail: run.interval_seconds === undefined ? "" : `${formatDuration(run.interval_seconds)} per iteration` },
  ];
}

export class Overview {
  readonly element = make("div", { class: "view" });
  private readonly findings = make("ul", { class: "findings", attributes: { "aria-label": "Findings" } });
  private readonly tiles = make("dl", { class: "tiles" });
  private readonly select = make("select", { attributes: { "aria-label": "Program of the curve" } });
  private readonly programs = make("tbody");
  private readonly gains = new Chart({
    title: "Cycles saved", height: 300, xLabel: "time", formatX: formatClock,
    formatY: (y) => formatPercent(y, 1), syncKey: "run",
  });
  private readonly curves: Chart[] = [];
  private run: Run | null = null;
  private cluster: Finding | null = null;

  constructor() {
    this.gains.element.querySelector(".card-head")!.append(this.select);
    this.select.addEventListener("change", () => void this.updateGains());
    const grid = make("div", { class: "grid" });
    for (const curve of kCurves) {
      const chart = new Chart({ title: curve.title, note: curve.note, height: 180, xLabel: "time",
                                formatX: formatClock, formatY: curve.format, syncKey: "run" });
      this.curves.push(chart);
      grid.append(chart.element);
    }
    this.element.append(
      make("h2", { class: "visually-hidden", text: "Overview" }), this.findings, this.tiles,
      this.gains.element, this.programTable(), grid);
  }

  private programTable(): HTMLElement {
    const columns = ["Program", "Chip", "Self-play", "Policy", "Best", "Greedy", "Local search", "Memory map"];
    const head = make("tr", {}, columns.map((name, i) =>
      make("th", { text: name, class: i === 6 ? "number local" : i >= 2 && i <= 6 ? "number" : "", attributes: { scope: "col" } })));
    return make("section", { class: "card", attributes: { "aria-label": "Programs" } }, [
      make("div", { class: "card-head" }, [
        make("h3", { text: "Programs" }),
        make("p", { class: "note", text: "cycles saved against the compiler's default; a program without one is compared with everything in HBM" }),
      ]),
      make("div", { class: "scroll", attributes: { tabindex: "0", role: "region", "aria-label": "Table of programs" } }, [
        make("table", {}, [make("thead", {}, [head]), this.programs]),
      ]),
    ]);
  }

  async update(run: Run): Promise<void> {
    this.run = run;
    this.showFindings();
    showChildren(this.tiles, tilesOf(run).map((tile) =>
      make("div", { class: "tile" }, [
        make("dt", { text: tile.name }), make("dd", { class: "value", text: tile.value }),
        make("dd", { class: "detail", text: tile.detail }),
      ])));
    this.updateSelect(run.programs);
    showChildren(this.programs, run.programs.map((row) => this.programRow(row)));
    this.element.classList.toggle("without-local", run.programs.every((row) => row.local_search === undefined));
    const seconds = toNumbers(run.curves.seconds);
    this.curves.forEach((chart, i) => {
      const lines = kCurves[i]!.lines.map(([name, label, colour]): Line =>
        ({ name: label, colour, values: toNumbers(run.curves[name]) }));
      chart.element.hidden = lines.every((line) => line.values.every((value) => value === null));
      chart.update(seconds, lines);
    });
    await this.updateGains();
  }

  // The state of the cluster, which takes longer to ask for than the run.
  updateCluster(finding: Finding): void {
    this.cluster = finding;
    this.showFindings();
  }

  private showFindings(): void {
    const findings = [...(this.run?.findings ?? []), ...(this.cluster === null ? [] : [this.cluster])];
    showChildren(this.findings, findings.map((finding) =>
      make("li", { class: `finding ${finding.level.toLowerCase()}` }, [
        make("strong", { text: finding.title }), make("span", { text: finding.text }),
      ])));
  }

  repaint(): void {
    for (const chart of [this.gains, ...this.curves]) chart.repaint();
  }

  private updateSelect(rows: ProgramRow[]): void {
    showOptions(this.select, [["", "mean of all programs"],
      ...rows.map((row) => [`${row.hardware}\n${row.name}`, `${row.name} on ${row.hardware}`] as const)]);
    this.select.hidden = rows.length < 2;
  }

  private async updateGains(): Promise<void> {
    if (this.run === null) return;
    let gains: Gains = this.run.mean;
    if (this.select.value !== "") {
      const [chip, program] = this.select.value.split("\n") as [string, string];
      gains = await ask<Gains>("gains", { chip, program });
    }
    const level = (value: number): (number | null)[] => gains.seconds.map(() => value);
    const lines: Line[] = [
      { name: "self-play", colour: "--c-self", values: toNumbers(gains.self_play) },
      { name: "policy with search", colour: "--c-policy", values: toNumbers(gains.policy) },
      { name: "best game", colour: "--c-best", values: toNumbers(gains.best), stepped: true },
      { name: gains.reference === "default" ? "compiler's default" : gains.reference || "default",
        colour: "--muted", values: level(0), dashed: true },
    ];
    if (gains.greedy !== undefined) lines.push({ name: "greedy", colour: "--c-greedy", values: level(gains.greedy), dashed: true });
    if (gains.local_search !== undefined) {
      lines.push({ name: "local search", colour: "--c-local", values: level(gains.local_search), dashed: true });
    }
    this.gains.update(toNumbers(gains.seconds), lines);
  }

  private programRow(row: ProgramRow): HTMLElement {
    const number = (value: number | undefined, strong = false): HTMLElement =>
      make("td", { class: `number${strong ? " strong" : ""}${value !== undefined && value < 0 ? " loss" : ""}`,
                   text: formatGain(value) });
    const link = row.no_map === ""
      ? make("a", { text: `${row.versions} ${row.versions === 1 ? "mapping" : "mappings"}`,
                    attributes: { href: mapAddress(row.hardware, row.name), "aria-label": `Memory map of ${row.name}` } })
      : make("span", { class: "note", text: "not available", attributes: { title: row.no_map } });
    return make("tr", {}, [
      make("th", { text: row.name, attributes: { scope: "row" } },
                                row.against_default ? [] : [make("span", { class: "note", text: " no default" })]), make("td", { text: row.hardware }),
      number(row.self_play), number(row.policy), number(row.best, true), number(row.greedy),
      make("td", { class: "number local", text: formatGain(row.local_search) }), make("td", {}, [link]),
    ]);
  }
}
