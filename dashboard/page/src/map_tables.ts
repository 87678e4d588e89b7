// The tables below the maps: the tensors in fast memory, and the reasons for the gain.
import { make } from "./dom";
import { formatBytes, formatCycles, formatPercent } from "./format";
import type { MapModel } from "./map_model";
import { paddingPercent, placeOf } from "./map_text";

const kFirstRows = 100;

interface Row {
  buffer: number;
  interval: number | null;  // the stay that the row is about
  bytes: number;
  padding: number | null;
  gain: number;
  first: number;
}

type Scope = "peak" | "marked" | "fast" | "all";

interface Column {
  title: string;
  key: (row: Row) => number | string;
  text: (row: Row) => string;
  numeric: boolean;
}

export class TensorTable {
  readonly element: HTMLElement;
  private readonly scope = make("select", { attributes: { "aria-label": "Which tensors" } });
  private readonly filter = make("input", {
    attributes: { type: "search", placeholder: "filter by name", "aria-label": "Filter tensors by name" } });
  private readonly note = make("p", { class: "note", attributes: { role: "status" } });
  private readonly head = make("tr");
  private readonly body = make("tbody");
  private readonly more = make("button", { text: "Show all", attributes: { type: "button" } });
  private model: MapModel | null = null;
  private compared: MapModel | null = null;
  private marked: number | undefined;
  private sorted = 3;
  private descending = true;
  private showAll = false;

  constructor(private readonly choose: (buffer: number, interval: number | null) => void) {
    for (const [value, text] of [["peak", "at the peak"], ["marked", "at the marked instruction"],
                                 ["fast", "ever in fast memory"], ["all", "whole program"]] as const) {
      this.scope.append(make("option", { text, attributes: { value } }));
    }
    this.scope.addEventListener("change", () => this.draw());
    this.filter.addEventListener("input", () => this.draw());
    this.more.addEventListener("click", () => { this.showAll = true; this.draw(); });
    this.element = make("section", { class: "card", attributes: { "aria-label": "Tensors" } }, [
      make("div", { class: "card-head" }, [make("h3", { text: "Tensors" }), this.scope, this.filter, this.note]),
      make("div", { class: "scroll tall", attributes: { tabindex: "0", role: "region", "aria-label": "Table of tensors" } }, [
        make("table", { class: "tensors" }, [make("thead", {}, [this.head]), this.body]),
      ]), this.more,
    ]);
  }

  update(model: MapModel, compared: MapModel | null): void {
    this.model = model;
    this.compared = compared;
    this.draw();
  }

  // The instruction for the scope "at the marked instruction"; undefined if none is marked.
  mark(instruction: number | undefined): void {
    this.marked = instruction;
    if (this.scope.value === "marked") this.draw();
  }

  private columns(model: MapModel): Column[] {
    const { program, map } = model;
    const columns: Column[] = [
      { title: "Tensor", numeric: false, key: (r) => program.buffers.name[r.buffer]!, text: (r) => program.buffers.name[r.buffer]! },
      { title: "Shape", numeric: false, key: (r) => program.buffers.shape[r.buffer]!, text: (r) => program.buffers.shape[r.buffer]! || "–" },
      { title: "Kind", numeric: false, key: (r) => program.kinds[program.buffers.kind[r.buffer]!]!, text: (r) => program.kinds[program.buffers.kind[r.buffer]!]! },
      { title: "Size", numeric: true, key: (r) => r.bytes, text: (r) => formatBytes(r.bytes) },
      { title: "Padding", numeric: true, key: (r) => r.padding ?? -1, text: (r) => (r.padding === null ? "–" : formatPercent(r.padding, 1)) },
      { title: "Program order", numeric: true, key: (r) => r.first,
        text: (r) => r.interval === null ? `#${program.buffers.first[r.buffer]!}–#${program.buffers.last[r.buffer]!}`
          : `#${map.intervals.first[r.interval]!}–#${map.intervals.last[r.interval]!}` },
      { title: "Address", numeric: true, key: (r) => (r.interval === null ? -1 : map.intervals.offset[r.interval]!),
        text: (r) => r.interval === null ? "in HBM" : map.has_addresses ? formatBytes(map.intervals.offset[r.interval]!) : "unknown" },
    ];
    if (map.buffer_gain.length > 0) {
      columns.push({ title: "Gain", numeric: true, key: (r) => r.gain, text: (r) => (r.gain === 0 ? "–" : formatCycles(r.gain)) });
    }
    if (this.compared !== null) {
      const staysIn = (r: Row): number => this.compared!.intervalsOfBuffer.get(r.buffer)?.length ?? 0;
      columns.push({ title: "Stays in compared", numeric: true, key: staysIn, text: (r) => String(staysIn(r)) });
    }
    return columns;
  }

  private rows(model: MapModel): Row[] {
    const { program, map } = model;
    const row = (buffer: number, interval: number | null): Row => ({
      buffer, interval, bytes: program.buffers.bytes[buffer]!, padding: paddingPercent(program, buffer),
      gain: map.buffer_gain[buffer] ?? 0,
      first: interval === null ? program.buffers.first[buffer]! : map.intervals.first[interval]!,
    });
    const ofIntervals = (list: number[]): Row[] => list.map((k) => row(map.intervals.buffer[k]!, k));
    switch (this.scope.value as Scope) {
      case "peak": return ofIntervals(model.intervalsAt(model.occupancy.peakPosition));
      case "marked":
        return this.marked === undefined ? [] : ofIntervals(model.intervalsAt(map.steps.running[this.marked]!));
      case "fast": return ofIntervals([...map.intervals.buffer.keys()]);
      case "all": return [...program.buffers.name.keys()].map((buffer) => row(buffer, model.intervalsOfBuffer.get(buffer)?.[0] ?? null));
    }
  }

  private draw(): void {
    const { model } = this;
    if (model === null) return;
    const columns = this.columns(model);
    const wanted = this.filter.value.toLowerCase();
    const rows = this.rows(model).filter((row) => model.program.buffers.name[row.buffer]!.toLowerCase().includes(wanted));
    const column = columns[Math.min(this.sorted, columns.length - 1)]!;
    rows.sort((a, b) => {
      const [x, y] = [column.key(a), column.key(b)];
      const order = typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y);
      return this.descending ? -order : order;
    });
    const bytes = rows.reduce((sum, row) => sum + (row.interval === null ? 0 : row.bytes), 0);
    this.note.textContent = this.scope.value === "marked" && this.marked === undefined
      ? "Click an instruction in the map first."
      : `${rows.length} rows${this.scope.value === "peak" || this.scope.value === "marked" ? `, ${formatBytes(bytes)} together` : ""}`;
    this.head.replaceChildren(...columns.map((c, i) => this.headCell(c, i)));
    const shown = this.showAll ? rows : rows.slice(0, kFirstRows);
    this.more.hidden = shown.length === rows.length;
    this.body.replaceChildren(...shown.map((row) => this.bodyRow(model, columns, row)));
  }

  private headCell(column: Column, index: number): HTMLElement {
    const active = index === this.sorted;
    const sort = make("button", { text: column.title, class: "sort", attributes: { type: "button" }, on: { click: () => {
      this.descending = active ? !this.descending : column.numeric;
      this.sorted = index;
      this.draw();
      // The button that was pressed is gone.
      this.head.children[index]?.querySelector("button")?.focus();
    } } });
    return make("th", { class: column.numeric ? "number" : "", attributes: {
      scope: "col", "aria-sort": !active ? "none" : this.descending ? "descending" : "ascending" } }, [sort]);
  }

  private bodyRow(model: MapModel, columns: Column[], row: Row): HTMLElement {
    const cells = columns.map((column, i) => {
      if (i > 0) return make("td", { class: column.numeric ? "number" : "", text: column.text(row) });
      const button = make("button", { class: "link", text: column.text(row), attributes: { type: "button", title: "Show it in the map" } });
      return make("th", { attributes: { scope: "row" } }, [
        make("span", { class: `swatch kind-${model.program.buffers.kind[row.buffer]!}` }), button]);
    });
    const element = make("tr", {}, cells);
    element.addEventListener("click", () => this.choose(row.buffer, row.interval));
    return element;
  }
}

export class ReasonList {
  // The roles are written out, because on a narrow page the style makes a grid of each row.
  private readonly body = make("tbody", { attributes: { role: "rowgroup" } });
  private readonly title = make("h3");
  readonly element = make("section", { class: "card", attributes: { "aria-label": "Reasons" } }, [
    make("div", { class: "card-head" }, [this.title]),
    make("div", { class: "scroll", attributes: { tabindex: "0", role: "region", "aria-label": "Table of reasons" } },
         [make("table", { class: "reasons", attributes: { role: "table" } }, [this.body])]),
  ]);

  constructor(private readonly choose: (buffer: number) => void) {}

  update(model: MapModel): void {
    const { reasons } = model.map;
    const total = model.program.default_cycles ?? 1;
    const difference = reasons.reduce((sum, reason) => sum + reason.cycles_gained, 0);
    this.element.hidden = reasons.length === 0;
    this.title.textContent = difference >= 0 ? "Why it is faster than the default" : "Why it is slower than the default";
    const most = Math.max(...reasons.map((reason) => (reason.buffer === undefined ? 0 : Math.abs(reason.cycles_gained))), 1);
    this.body.replaceChildren(...reasons.map((reason) => {
      const bar = make("meter", { class: reason.cycles_gained < 0 ? "loss" : "gain", attributes: {
        min: "0", max: String(most), value: String(Math.abs(reason.cycles_gained)) } });
      const name = reason.buffer === undefined ? reason.title
        : make("button", { class: "link", text: reason.title, attributes: { type: "button" },
                           on: { click: () => this.choose(reason.buffer!) } });
      return make("tr", { attributes: { role: "row" } }, [
        make("th", { attributes: { scope: "row", role: "rowheader" } }, [name]),
        make("td", { class: "number", text: `${reason.cycles_gained > 0 ? "+" : ""}${formatPercent(100 * reason.cycles_gained / total)}`,
                     attributes: { role: "cell" } }),
        make("td", { class: "bar", attributes: { "aria-hidden": "true" } }, [bar]),
        make("td", { class: "wide", text: reason.why, attributes: { role: "cell" } }),
      ]);
    }));
  }
}

// The parts of the peak by kind, such as "weights 12 MiB".
export function peakText(model: MapModel): string {
  const { occupancy, program } = model;
  const at = occupancy.positions.indexOf(occupancy.peakPosition);
  const parts = program.kinds
    .map((kind, k) => [kind, occupancy.bytes[k]![at] ?? 0] as const).filter(([, bytes]) => bytes > 0)
    .map(([kind, bytes]) => `${kind} ${formatBytes(bytes)}`);
  const share = 100 * occupancy.peak / program.fast_memory_bytes;
  return `Peak ${formatBytes(occupancy.peak)} of ${formatBytes(program.fast_memory_bytes)} ${program.fast_memory_name} ` +
    `(${formatPercent(share, 0)}) at ${placeOf(program, model.instructionAt(occupancy.peakPosition))}` +
    (parts.length === 0 ? "." : `: ${parts.join(", ")}.`);
}
