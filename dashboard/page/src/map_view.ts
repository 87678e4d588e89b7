// The second view: the memory map of a program under one mapping, and under another to compare.
import { ask, type MemoryMap, type Program, type Run, type Version } from "./api";
import { make, showOptions } from "./dom";
import { formatBytes, formatChipTime, formatClock, formatCount, formatCycles, formatGain, formatPercent, formatShort } from "./format";
import { attachInput, kKeys, type MapActions } from "./map_input";
import { MapModel } from "./map_model";
import { MapPanel, type Hit, type Marks } from "./map_panel";
import type { Colouring, Ticks, Viewport } from "./map_style";
import { peakText, ReasonList, TensorTable } from "./map_tables";
import { spokenInterval, tooltipOf } from "./map_text";
import { mapAddress } from "./routes";

const kNone = "none";  // compare with nothing

function option(value: string, text: string): HTMLOptionElement {
  return make("option", { text, attributes: { value } });
}

function field(label: string, control: HTMLElement): HTMLElement {
  return make("label", { class: "field" }, [make("span", { text: label }), control]);
}

export class MapView {
  readonly element = make("div", { class: "view" });
  private readonly programs = make("select", { class: "program" });
  private readonly slider = make("input", { attributes: { type: "range", min: "0", step: "1", "aria-label": "Best mapping in the run's history" } });
  private readonly sliderText = make("output", { class: "slider-text" });
  private readonly compare = make("select");
  private readonly axis = make("select");
  private readonly colouring = make("select");
  private readonly message = make("p", { class: "note", attributes: { role: "status" } });
  private readonly spoken = make("p", { class: "visually-hidden", attributes: { "aria-live": "polite" } });
  private readonly peak = make("p", { class: "note peak" });
  private readonly legend = make("ul", { class: "legend", attributes: { "aria-label": "Legend" } });
  private readonly tooltip = make("div", { class: "tooltip", attributes: { role: "tooltip", hidden: "" } });
  private readonly body = make("div", { class: "map-body" });
  private readonly panels = [new MapPanel("Memory map of the run's best mapping"), new MapPanel("Memory map of the compared mapping")] as const;
  private readonly table = new TensorTable((buffer, interval) => this.show(buffer, interval));
  private readonly reasons = new ReasonList((buffer) => this.show(buffer, null));

  private key = "";  // chip and program
  private program: Program | null = null;
  private models: (MapModel | null)[] = [null, null];
  private view: Viewport = { x0: 0, x1: 1, y0: 0, y1: 1 };
  private hovered: Marks = {};
  private chosen: Marks = {};
  private chosenInterval = -1;
  private frame = 0;
  private marksOnly = true;
  private loading = 0;  // number of the latest request
  private lacksChosen = false;  // the page shows another mapping than the one that the user has chosen

  constructor() {
    for (const [value, text] of [["time", "time"], ["cycles", "cycles"], ["instructions", "instructions"]] as const) this.axis.append(option(value, text));
    for (const [value, text] of [["kind", "kind of tensor"], ["gain", "gain against the default"]] as const) this.colouring.append(option(value, text));
    const button = (text: string, label: string, action: () => void): HTMLElement =>
      make("button", { text, attributes: { type: "button", "aria-label": label, title: label }, on: { click: action } });
    const zoom = make("div", { class: "buttons", attributes: { role: "group", "aria-label": "Zoom" } }, [
      button("−", "Zoom out", () => this.actions.zoom(1.6, 0.5, 1, 0.5)),
      button("+", "Zoom in", () => this.actions.zoom(1 / 1.6, 0.5, 1, 0.5)),
      button("Fit", "Show everything", () => this.fit()),
    ]);
    const history = make("div", { class: "history" }, [
      button("‹", "Previous mapping", () => this.stepVersion(-1)), this.slider,
      button("›", "Next mapping", () => this.stepVersion(1)),
    ]);
    const keys = make("details", { class: "keys" }, [make("summary", { text: "Keys and mouse" }),
      make("dl", { class: "facts" }, kKeys.flatMap(([key, text]) => [make("dt", { text: key }), make("dd", { text })]))]);
    this.body.append(
      make("div", { class: "card toolbar" }, [
        field("Program", this.programs), make("div", { class: "field grow" }, [make("span", {}, ["History ", this.sliderText]), history]),
        field("Compare with", this.compare), field("Axis", this.axis), field("Colour", this.colouring),
      ]),
      make("div", { class: "legend-row" }, [this.legend, zoom]), this.panels[0].element, this.panels[1].element, this.peak, this.reasons.element, this.table.element, keys);
    this.element.append(
      make("h2", { class: "visually-hidden", text: "Memory map" }), this.message, this.body, this.tooltip, this.spoken,
      make("p", { class: "visually-hidden", attributes: { id: "map-keys" }, text: `Keys: ${kKeys.map((k) => k.join(": ")).join("; ")}` }));
    this.programs.addEventListener("change", () => { location.hash = this.programs.value; });
    this.slider.addEventListener("input", () => this.loadChosen());
    this.compare.addEventListener("change", () => this.loadChosen());
    this.axis.addEventListener("change", () => this.loadChosen(true));
    this.colouring.addEventListener("change", () => { this.drawLegend(); this.invalidate(false); });
    for (const panel of this.panels) {
      attachInput(panel, this.actions);
      new ResizeObserver(() => this.resize()).observe(panel.element);
    }
  }

  // Shows a program. Keeps what is shown if it is the same one and has no new mapping.
  async update(run: Run, chip: string, name: string): Promise<void> {
    this.updatePrograms(run, chip, name);
    const row = run.programs.find((r) => r.hardware === chip && r.name === name);
    this.body.hidden = row === undefined || row.no_map !== "";
    this.message.hidden = !this.body.hidden;
    if (this.body.hidden) {
      this.message.textContent = row === undefined ? "The run has no program with a memory map yet." : row.no_map;
      this.key = "";  // another run may begin in the folder
      return;
    }
    const key = `${chip}\n${name}\n${row!.versions}`;
    if (key === this.key) {
      if (this.lacksChosen) await this.load();
      this.lacksChosen = false;
      return;
    }
    const sameProgram = this.key.startsWith(`${chip}\n${name}\n`);
    // The page shows another program until the answers are there.
    this.body.classList.toggle("busy", !sameProgram);
    const program = await ask<Program>("program", { chip, program: name });
    const followed = !sameProgram || Number(this.slider.value) === Number(this.slider.max);
    this.program = program;
    this.updateVersions(followed, sameProgram);
    this.drawLegend();
    if (!sameProgram) this.forgetMarks();
    await this.load(!sameProgram);
    this.key = key;
    this.body.classList.remove("busy");
    this.body.dataset["program"] = name;
  }

  repaint(): void {
    this.resize();
  }

  private updatePrograms(run: Run, chip: string, name: string): void {
    const drawn = run.programs.filter((row) => row.no_map === "");
    const wanted = mapAddress(chip, name);
    showOptions(this.programs, drawn.map((row) => [mapAddress(row.hardware, row.name), `${row.name} · ${row.hardware}`] as const));
    this.programs.value = wanted;
  }

  // The run's own mappings, oldest first; without any, the other mappings.
  private history(): Version[] {
    const own = this.program!.versions.filter((version) => version.id !== "default" && version.id !== "all_hbm");
    return own.length > 0 ? own : this.program!.versions;
  }

  private updateVersions(followLatest: boolean, keepCompared: boolean): void {
    const history = this.history();
    this.slider.max = String(history.length - 1);
    if (followLatest) this.slider.value = this.slider.max;
    const before = this.compare.value;
    this.compare.replaceChildren(...this.program!.versions.map((v) => option(v.id, v.title)), option(kNone, "nothing"));
    this.compare.value = keepCompared ? before : this.program!.versions[0]!.id;
    if (this.compare.selectedIndex < 0) this.compare.selectedIndex = 0;
  }

  private stepVersion(direction: number): void {
    this.slider.value = String(Number(this.slider.value) + direction);
    this.loadChosen();
  }

  // Shows what the user has chosen. If the server gives no answer, `update` asks again.
  private loadChosen(reset = false): void {
    this.load(reset).catch(() => { this.lacksChosen = true; });
  }

  private async load(reset = false): Promise<void> {
    const program = this.program;
    if (program === null) return;
    const request = ++this.loading;
    const version = this.history()[Number(this.slider.value)]!;
    this.describeVersion(version);
    const axis = this.axis.value === "instructions" ? "instructions" : "cycles";
    const get = (mapping: string): Promise<MemoryMap> => ask<MemoryMap>("map", { chip: program.hardware, program: program.name, mapping, axis });
    const maps = await Promise.all([get(version.id), this.compare.value === kNone ? null : get(this.compare.value)]);
    if (request !== this.loading) return;  // a later one is on its way
    this.models = maps.map((map) => (map === null ? null : new MapModel(map, program)));
    this.panels.forEach((panel, i) => {
      panel.setModel(this.models[i]!);
      panel.element.hidden = this.models[i] === null;
    });
    this.describePanels();
    if (reset) this.fit();
    this.clampView();
    this.resize();
    this.table.update(this.models[0]!, this.models[1]!);
    this.reasons.update(this.models[0]!);
  }

  private describeVersion(version: Version): void {
    const history = this.history();
    const found = version.seconds === undefined ? "" : ` · iteration ${formatCount(version.iteration ?? 0)} · ${formatClock(version.seconds)}`;
    const text = `${Number(this.slider.value) + 1} of ${history.length} · ${this.gainOf(version.cycles)}${found}`;
    this.sliderText.textContent = text;
    this.slider.setAttribute("aria-valuetext", `${version.title}, ${text}`);
  }

  private gainOf(cycles: number): string {
    const reference = this.program!.default_cycles ?? this.program!.all_hbm_cycles;
    return formatGain(100 * (1 - cycles / reference));
  }

  private describePanels(): void {
    const program = this.program!;
    this.panels.forEach((panel, i) => {
      const map = this.models[i]?.map;
      if (map === undefined) return;
      panel.title.textContent = map.title;
      // The price of the compiler's module differs a little from that of its mapping.
      const cycles = map.id === "default" ? (program.default_cycles ?? map.cycles) : map.cycles;
      const facts: [string, string][] = [
        [`${formatCycles(cycles)}`, formatChipTime(cycles, program.clock_hz)],
        ["saved", this.gainOf(cycles)],
        ["waits", formatPercent(100 * map.stall_cycles / map.cycles)],
        ["copies", `${formatCount(map.copies)}, ${formatBytes(map.copied_bytes)}`],
        ["accesses in HBM", formatPercent(100 * map.hbm_share, 0)],
      ];
      panel.figures.replaceChildren(...facts.map(([name, value]) => make("span", {}, [`${name} `, make("b", { text: value })])));
    });
    this.peak.textContent = peakText(this.models[0]!);
  }

  private drawLegend(): void {
    const entry = (style: string, text: string): HTMLElement => make("li", {}, [make("span", { class: `swatch ${style}` }), text]);
    const colours = this.colouring.value === "kind"
      ? this.program!.kinds.map((kind, k) => entry(`kind-${k}`, kind))
      : [entry("gain-m3", "loses most"), entry("gain-m1", "loses"), entry("gain-0", "no change"), entry("gain-1", "gains"), entry("gain-3", "gains most")];
    this.legend.replaceChildren(...colours, entry("hatched", "copy on its way"), entry("pale", "queued until needed"),
      entry("wait", "program waits"), entry("own", "HBM: own accesses"), entry("copies", "HBM: copies"), entry("peak", "peak"));
  }

  private readonly actions: MapActions = {
    zoom: (factorX, shareX, factorY, shareY) => {
      const v = this.view;
      const x = v.x0 + shareX * (v.x1 - v.x0);
      const y = v.y1 - shareY * (v.y1 - v.y0);
      this.view = { x0: x - (x - v.x0) * factorX, x1: x + (v.x1 - x) * factorX, y0: y - (y - v.y0) * factorY, y1: y + (v.y1 - y) * factorY };
      this.clampView();
      this.invalidate(false);
    },
    pan: (shareX, shareY) => {
      const v = this.view;
      const dx = Math.max(-v.x0, Math.min(shareX * (v.x1 - v.x0), this.end() - v.x1));
      const dy = Math.max(-v.y0, Math.min(shareY * (v.y1 - v.y0), this.capacity() - v.y1));
      this.view = { x0: v.x0 + dx, x1: v.x1 + dx, y0: v.y0 + dy, y1: v.y1 + dy };
      this.invalidate(false);
    },
    fit: () => this.fit(),
    hover: (x, y) => this.hover(x, y),
    leave: () => { this.hovered = {}; this.tooltip.hidden = true; this.invalidate(true); },
    choose: (x, y) => {
      const found = this.hitOf(x, y);
      if (found === null) return;
      const buffer = found.hit.interval === undefined ? undefined : found.model.map.intervals.buffer[found.hit.interval]!;
      this.chosen = { instruction: found.hit.instruction, buffer };
      this.chosenInterval = found.model === this.models[0] ? found.hit.interval ?? -1 : -1;
      this.table.mark(found.hit.instruction);
      if (found.hit.interval !== undefined) this.spoken.textContent = spokenInterval(found.model, found.hit.interval);
      this.invalidate(true);
    },
    step: (direction) => this.stepStay(direction),
    clear: () => { this.forgetMarks(); this.tooltip.hidden = true; this.invalidate(true); },
  };

  private forgetMarks(): void {
    this.chosen = {};
    this.chosenInterval = -1;
    this.table.mark(undefined);
  }

  private end(): number { return Math.max(...this.models.map((model) => model?.map.end ?? 0), 1); }
  private capacity(): number { return this.program?.fast_memory_bytes ?? 1; }

  private fit(): void {
    this.view = { x0: 0, x1: this.end(), y0: 0, y1: this.capacity() };
    this.invalidate(false);
  }

  // Keeps the viewport within the program, and from becoming narrower than a few cycles.
  private clampView(): void {
    const clamp = (low: number, high: number, least: number, most: number): [number, number] => {
      const size = Math.min(Math.max(high - low, least), most);
      const start = Math.min(Math.max((low + high - size) / 2, 0), most - size);
      return [start, start + size];
    };
    const [x0, x1] = clamp(this.view.x0, this.view.x1, this.axis.value === "instructions" ? 2 : 20, this.end());
    const [y0, y1] = clamp(this.view.y0, this.view.y1, this.capacity() / 4096, this.capacity());
    this.view = { x0, x1, y0, y1 };
  }

  private hitOf(x: number, y: number): { hit: Hit; model: MapModel } | null {
    for (let i = 0; i < this.panels.length; ++i) {
      const model = this.models[i];
      const hit = model == null ? null : this.panels[i]!.hit(x, y, this.view);
      if (hit !== null) return { hit, model: model! };
    }
    return null;
  }

  private hover(x: number, y: number): void {
    const found = this.hitOf(x, y);
    this.tooltip.hidden = found === null;
    if (found !== null) {
      const { hit, model } = found;
      this.hovered = { instruction: hit.instruction, buffer: hit.interval === undefined ? undefined : model.map.intervals.buffer[hit.interval]! };
      this.tooltip.replaceChildren(...tooltipOf(model, hit));
      this.placeTooltip(x, y);
    } else {
      this.hovered = {};
    }
    this.invalidate(true);
  }

  private placeTooltip(x: number, y: number): void {
    const { offsetWidth: width, offsetHeight: height } = this.tooltip;
    const left = x + 16 + width > window.innerWidth ? Math.max(4, x - width - 16) : x + 16;
    const top = Math.max(4, Math.min(y + 16, window.innerHeight - height - 4));
    this.tooltip.style.transform = `translate(${left}px, ${top}px)`;
  }

  private stepStay(direction: 1 | -1): void {
    const model = this.models[0];
    if (model == null || model.map.intervals.buffer.length === 0) return;
    const count = model.map.intervals.buffer.length;
    // Without a stay that is chosen, the first or the last one.
    const from = this.chosenInterval < 0 && direction < 0 ? 0 : this.chosenInterval;
    this.chosenInterval = (from + direction + count) % count;
    this.show(model.map.intervals.buffer[this.chosenInterval]!, this.chosenInterval);
  }

  // Marks a tensor, moves the viewport to it if it is outside, and says what it is.
  private show(buffer: number, interval: number | null): void {
    const model = this.models[0];
    if (model == null) return;
    const k = interval ?? model.intervalsOfBuffer.get(buffer)?.[0];
    this.chosen = { buffer };
    if (k !== undefined) {
      this.chosenInterval = k;
      const { begin, end } = model.map.intervals;
      if (end[k]! < this.view.x0 || begin[k]! > this.view.x1) {
        const half = (this.view.x1 - this.view.x0) / 2;
        const middle = (begin[k]! + end[k]!) / 2;
        this.view = { ...this.view, x0: middle - half, x1: middle + half };
        this.clampView();
      }
      this.spoken.textContent = spokenInterval(model, k);
    }
    this.invalidate(false);
  }

  private resize(): void {
    if (this.program === null || this.element.clientWidth === 0) return;
    const share = this.models[1] === null ? 0.6 : 0.3;
    const height = Math.round(Math.min(Math.max(window.innerHeight * share, 150), 900));
    this.panels.forEach((panel, i) => { if (this.models[i] != null) panel.resize(height); });
    this.invalidate(false);
  }

  // Draws in the next frame, once.
  private invalidate(marksOnly: boolean): void {
    this.marksOnly &&= marksOnly;
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const start = performance.now();
      const marksOnlyNow = this.marksOnly;
      this.marksOnly = true;
      const marks = { ...this.chosen, ...(this.hovered.instruction === undefined ? {} : this.hovered) };
      this.panels.forEach((panel, i) => {
        if (this.models[i] == null) return;
        if (!marksOnlyNow) panel.draw(this.view, this.colouring.value as Colouring, this.ticks());
        panel.drawMarks(marks);
      });
      performance.measure("memory map frame", { start });
    });
  }

  private ticks(): Ticks {
    // Times are round in nanoseconds, not in cycles.
    const unit = this.axis.value === "time" ? this.program!.clock_hz / 1e9 : 1;
    return { unit, least: this.axis.value === "time" ? 0.1 : 1, format: (position, step) => this.tick(position, step) };
  }

  private tick(position: number, step: number): string {
    if (this.axis.value === "instructions") return `#${formatCount(position)}`;
    if (this.axis.value === "cycles") return formatShort(position);
    const clock = this.program!.clock_hz;
    const unit = step / clock >= 1e-4 ? ["ms", 1e3] as const : ["µs", 1e6] as const;
    const digits = Math.max(0, -Math.floor(Math.log10((step / clock) * unit[1])));
    return `${((position / clock) * unit[1]).toFixed(Math.min(digits, 4))} ${unit[0]}`;
  }
}
