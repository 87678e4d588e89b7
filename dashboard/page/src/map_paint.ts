// Paints the lanes of a memory map on a canvas. Everything outside the viewport is left out, and
// rectangles of one colour are one path, so that a frame takes a few milliseconds.
import { abridge, formatBytes } from "./format";
import { firstIndex, type MapModel } from "./map_model";
import {
  binaryStep, gainStep, kLoopRow, kRowHeight, niceStep, type Colouring, type Lane, type Layout, type Palette, type Ticks, type Viewport,
} from "./map_style";

const kFont = 11;           // height of labels, pixels
const kCharacter = 0.605;  // width of a character of a monospaced label, in heights
const kMostLabels = 400;

export class MapPainter {
  private readonly scale: number;
  private readonly fontSize: number;
  private readonly character: number;

  constructor(
    private readonly context: CanvasRenderingContext2D, private readonly model: MapModel,
    private readonly view: Viewport, private readonly layout: Layout, private readonly palette: Palette,
    private readonly colouring: Colouring,
  ) {
    this.fontSize = Math.round(kFont * layout.scale);
    this.character = kCharacter * this.fontSize;
    this.scale = (layout.width - layout.left) / (view.x1 - view.x0);
  }

  paint(ticks: Ticks): void {
    const { context, layout, palette } = this;
    context.fillStyle = palette.panel;
    context.fillRect(0, 0, layout.width, layout.height);
    this.paintNames();
    context.save();
    context.beginPath();
    context.rect(layout.left, 0, layout.width - layout.left, layout.height);
    context.clip();
    this.paintBackgrounds();
    this.paintTicks(ticks);
    this.paintLoops();
    this.paintUse();
    this.paintMemory();
    this.paintWaits();
    this.paintCopies(false);
    this.paintCopies(true);
    this.paintBandwidth();
    this.paintSteps();
    context.restore();
  }

  x(position: number): number {
    return this.layout.left + (position - this.view.x0) * this.scale;
  }

  y(address: number): number {
    const { top, height } = this.layout.lanes.memory;
    return top + height * (1 - (address - this.view.y0) / (this.view.y1 - this.view.y0));
  }

  private paintNames(): void {
    const { context, layout, palette, view } = this;
    context.font = `${this.fontSize}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillStyle = palette.muted;
    const right = layout.left - 6;
    const names: [Lane, string][] = [
      [layout.lanes.use, "in use"], [layout.lanes.waits, "waits"], [layout.lanes.in, "copy in"],
      [layout.lanes.out, "copy out"], [layout.lanes.hbm, "HBM use"], [layout.lanes.steps, "instr."],
    ];
    if (layout.lanes.loops.height > 0) names.push([layout.lanes.loops, "loops"]);
    for (const [lane, name] of names) context.fillText(name, right, lane.top + lane.height / 2);
    const step = binaryStep((view.y1 - view.y0) / Math.max(2, layout.lanes.memory.height / (34 * layout.scale)));
    const memory = layout.lanes.memory;
    for (let address = Math.ceil(view.y0 / step) * step; address <= view.y1; address += step) {
      const y = Math.min(Math.max(this.y(address), memory.top + 5), memory.top + memory.height - 7 * layout.scale);
      context.fillText(formatBytes(address), right, y);
    }
  }

  private paintBackgrounds(): void {
    const { context, layout, palette, view } = this;
    context.fillStyle = palette.lane;
    for (const lane of Object.values(layout.lanes)) {
      if (lane !== layout.lanes.axis && lane !== layout.lanes.loops) {
        context.fillRect(layout.left, lane.top, layout.width - layout.left, lane.height);
      }
    }
    context.fillStyle = palette.grid;
    const step = binaryStep((view.y1 - view.y0) / Math.max(2, layout.lanes.memory.height / (34 * layout.scale)));
    for (let address = Math.ceil(view.y0 / step) * step; address <= view.y1; address += step) {
      context.fillRect(layout.left, Math.round(this.y(address)), layout.width - layout.left, 1);
    }
  }

  private paintTicks(ticks: Ticks): void {
    const { context, layout, palette, view } = this;
    const count = Math.max(2, (layout.width - layout.left) / (110 * layout.scale));
    const step = ticks.unit * niceStep(Math.max((view.x1 - view.x0) / count / ticks.unit, ticks.least));
    context.textAlign = "center";
    for (let tick = Math.ceil(view.x0 / step) * step; tick <= view.x1; tick += step) {
      const x = Math.round(this.x(tick));
      context.fillStyle = palette.grid;
      context.fillRect(x, layout.lanes.use.top, 1, layout.lanes.axis.top - layout.lanes.use.top + 4);
      context.fillStyle = palette.muted;
      const text = ticks.format(tick, step);
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(Math.max(x, layout.left + half), layout.width - half - 1), layout.lanes.axis.top + 12 * layout.scale);
    }
  }

  private paintLoops(): void {
    const { context, layout, palette, model } = this;
    const { running } = model.map.steps;
    for (const loop of model.program.loops) {
      const from = Math.max(this.x(running[loop.begin]!), layout.left);
      const to = Math.min(this.x(running[loop.end]!), layout.width);
      if (to - from < 1) continue;
      const y = layout.lanes.loops.top + kLoopRow * layout.scale * (loop.depth + 1) - 3;
      context.strokeStyle = palette.muted;
      context.beginPath();
      context.moveTo(from + 0.5, y + 3);
      context.lineTo(from + 0.5, y);
      context.lineTo(to - 0.5, y);
      context.lineTo(to - 0.5, y + 3);
      context.stroke();
      const times = `×${loop.trip_count}${loop.trip_count_known ? "" : " (assumed)"}`;
      const text = [`${loop.name} ${times}`, times].find((t) => t.length * this.character < to - from);
      if (text !== undefined) this.label(text, from, y - 7 * layout.scale, to - from, palette.muted);
    }
  }

  private paintUse(): void {
    const { context, layout, palette, model } = this;
    const { occupancy, program } = model;
    const { top, height } = layout.lanes.use;
    const capacity = program.fast_memory_bytes;
    const count = occupancy.positions.length;
    const start = Math.max(0, firstIndex(count, (i) => occupancy.positions[i]! > this.view.x0) - 1);
    const bottom = top + height;
    for (let kind = program.kinds.length - 1; kind >= 0; --kind) {
      context.fillStyle = palette.kinds[kind]!;
      context.beginPath();
      context.moveTo(layout.left, bottom);
      let x = layout.left;
      let highest = bottom;
      for (let i = start; i < count && occupancy.positions[i]! <= this.view.x1; ++i) {
        let bytes = 0;
        for (let k = 0; k <= kind; ++k) bytes += occupancy.bytes[k]![i]!;
        const y = bottom - height * Math.min(1, bytes / capacity);
        const next = i + 1 < count ? this.x(occupancy.positions[i + 1]!) : layout.width;
        highest = Math.min(highest, y);
        // Steps that are narrower than a pixel are drawn as one pixel of their largest value.
        if (next - x < 1 && i + 1 < count) continue;
        if (highest < y) {
          context.lineTo(x, highest);
          context.lineTo(x + 1, highest);
          x += 1;
        }
        context.lineTo(x, y);
        context.lineTo(Math.max(next, x), y);
        x = Math.max(next, x);
        highest = bottom;
      }
      context.lineTo(x, bottom);
      context.fill();
    }
    const peak = this.x(occupancy.peakPosition);
    if (occupancy.peak > 0 && peak >= layout.left && peak <= layout.width) {
      context.fillStyle = palette.peak;
      context.fillRect(Math.round(peak), top - 3, 2, height + 3);
    }
  }

  private paintMemory(): void {
    const { context, layout, palette, model } = this;
    const { map, program } = model;
    const lane = layout.lanes.memory;
    context.save();
    context.beginPath();
    context.rect(layout.left, lane.top, layout.width - layout.left, lane.height);
    context.clip();
    const boxes = new Map<string, number[]>();
    const visible: number[] = [];
    model.stays.visit(this.view.x0, this.view.x1, (k) => {
      if (map.intervals.end[k]! < this.view.x0) return;
      const bottom = map.intervals.offset[k]!;
      const top = bottom + program.buffers.bytes[map.intervals.buffer[k]!]!;
      if (top < this.view.y0 || bottom > this.view.y1) return;
      visible.push(k);
      const colour = this.colourOf(map.intervals.buffer[k]!);
      const list = boxes.get(colour);
      if (list === undefined) boxes.set(colour, [k]);
      else list.push(k);
    });
    for (const [colour, list] of boxes) {
      context.fillStyle = colour;
      context.beginPath();
      for (const k of list) this.addBox(k);
      context.fill();
    }
    this.paintHatches(visible);
    this.paintLabels(visible);
    context.restore();
    if (!map.has_addresses) {
      this.label("The compiler's addresses are unknown: only sizes and times are right.", layout.left, lane.top + 12,
                 layout.width - layout.left, palette.text);
    }
  }

  private colourOf(buffer: number): string {
    const { model, palette } = this;
    if (this.colouring === "kind") return palette.kinds[model.program.buffers.kind[buffer]!]!;
    const total = model.program.default_cycles ?? model.program.all_hbm_cycles;
    return palette.gains[gainStep(model.map.buffer_gain[buffer] ?? 0, total) + 3]!;
  }

  private addBox(k: number): void {
    const { map, program } = this.model;
    const bottom = map.intervals.offset[k]!;
    const x = Math.max(this.x(map.intervals.begin[k]!), this.layout.left - 2);
    const width = Math.min(this.x(map.intervals.end[k]!), this.layout.width + 2) - x;
    const y = this.y(bottom + program.buffers.bytes[map.intervals.buffer[k]!]!);
    const height = this.y(bottom) - y;
    // A small gap separates neighbours where there is room for it.
    const gapX = width > 3 ? 0.5 : 0;
    const gapY = height > 3 ? 0.5 : 0;
    this.context.rect(x + gapX, y + gapY, Math.max(width - 2 * gapX, 0.6), Math.max(height - 2 * gapY, 0.6));
  }

  private paintHatches(visible: number[]): void {
    const { context, model, palette } = this;
    if (palette.hatch === null) return;
    const { map, program } = model;
    context.fillStyle = palette.hatch;
    context.beginPath();
    for (const k of visible) {
      for (const c of model.copiesOfInterval.get(k) ?? []) {
        const x = this.x(map.copies_of.queued[c]!);
        const width = this.x(map.copies_of.needed[c]!) - x;
        const bottom = map.intervals.offset[k]!;
        const y = this.y(bottom + program.buffers.bytes[map.intervals.buffer[k]!]!);
        if (width > 1.5) context.rect(x, y, width, this.y(bottom) - y);
      }
    }
    context.fill();
  }

  private paintLabels(visible: number[]): void {
    const { context, layout, model } = this;
    const { map, program } = model;
    context.font = `${this.fontSize}px ui-monospace, monospace`;
    context.textAlign = "center";
    context.fillStyle = this.palette.onColour;
    let labels = 0;
    for (const k of visible) {
      const buffer = map.intervals.buffer[k]!;
      const from = Math.max(this.x(map.intervals.begin[k]!), layout.left);
      const width = Math.min(this.x(map.intervals.end[k]!), layout.width) - from;
      const bottom = map.intervals.offset[k]!;
      const y = this.y(bottom + program.buffers.bytes[buffer]!);
      const height = this.y(bottom) - y;
      if (width < 13 || height < 11 || Math.max(width, height) < 44 || ++labels > kMostLabels) continue;
      const upright = width < 44;
      const name = program.buffers.name[buffer]!;
      const room = Math.floor((Math.max(upright ? height : width, 0) - 6) / this.character);
      const whole = `${name} ${formatBytes(program.buffers.bytes[buffer]!)}`;
      const text = whole.length <= room ? whole : abridge(name, room);
      if (!upright) {
        context.fillText(text, from + width / 2, y + height / 2);
        continue;
      }
      context.save();
      context.translate(from + width / 2, y + height / 2);
      context.rotate(-Math.PI / 2);
      context.fillText(text, 0, 0);
      context.restore();
    }
  }

  private paintWaits(): void {
    const { context, layout, palette, model } = this;
    const { reached, running, wait_cycles: waits } = model.map.steps;
    const lane = layout.lanes.waits;
    context.fillStyle = palette.wait;
    for (let i = this.firstStep(); i < waits.length && reached[i]! <= this.view.x1; ++i) {
      if (waits[i]! <= 0) continue;
      const x = this.x(reached[i]!);
      context.fillRect(x, lane.top, Math.max(this.x(running[i]!) - x, 1.5), lane.height);
    }
  }

  private paintCopies(out: boolean): void {
    const { context, layout, palette, model } = this;
    const { copies_of: copies, moves, intervals } = model.map;
    const lane = out ? layout.lanes.out : layout.lanes.in;
    const rowHeight = kRowHeight * layout.scale;
    const solid: number[] = [];
    context.fillStyle = palette.pale;
    context.beginPath();
    model.copies.visit(this.view.x0, this.view.x1, (c) => {
      if (copies.out[c] !== out || copies.needed[c]! < this.view.x0) return;
      const x = this.x(copies.queued[c]!);
      context.rect(x, lane.top + rowHeight * model.copyRow[c]! + 1, Math.max(this.x(copies.needed[c]!) - x, 1), rowHeight - 2);
      solid.push(c);
    });
    context.fill();
    for (const c of solid) {
      context.fillStyle = palette.kinds[model.program.buffers.kind[intervals.buffer[copies.interval[c]!]!]!]!;
      for (const m of model.movesOfCopy[c]!) {
        const x = this.x(moves.begin[m]!);
        context.fillRect(x, lane.top + rowHeight * model.copyRow[c]! + 1, Math.max(this.x(moves.end[m]!) - x, 1), rowHeight - 2);
      }
    }
  }

  // Steps that are narrower than a pixel are drawn as their mean.
  private paintBandwidth(): void {
    const { context, layout, palette, model } = this;
    const { reached, running, wait_copy_share: waitCopy, own_share: own, copy_share: copy } = model.map.steps;
    const { top, height } = layout.lanes.hbm;
    let x = layout.left;
    let weight = 0;
    let ownSum = 0;
    let copySum = 0;
    const flush = (end: number): void => {
      if (weight > 0 && end > x) {
        const ownHeight = (height * ownSum) / weight;
        const copyHeight = (height * copySum) / weight;
        context.fillStyle = palette.own;
        context.fillRect(x, top + height - ownHeight, end - x + 0.3, ownHeight);
        context.fillStyle = palette.copies;
        context.fillRect(x, top + height - ownHeight - copyHeight, end - x + 0.3, copyHeight);
      }
      x = end;
      weight = ownSum = copySum = 0;
    };
    const add = (begin: number, end: number, ownShare: number, copyShare: number): void => {
      const width = end - begin;
      if (width <= 0) return;
      weight += width;
      ownSum += width * ownShare;
      copySum += width * copyShare;
      if (this.x(end) - x >= 1) flush(Math.min(this.x(end), layout.width));
    };
    for (let i = this.firstStep(); i < reached.length && reached[i]! <= this.view.x1; ++i) {
      add(Math.max(reached[i]!, this.view.x0), running[i]!, 0, waitCopy[i]!);
      if (i < own.length) add(Math.max(running[i]!, this.view.x0), reached[i + 1]!, own[i]!, copy[i]!);
    }
    flush(Math.min(layout.width, x + 1));
  }

  private paintSteps(): void {
    const { context, layout, palette, model } = this;
    const { reached, running, cycles } = model.map.steps;
    const { top, height } = layout.lanes.steps;
    context.font = `${this.fontSize}px ui-monospace, monospace`;
    context.fillStyle = palette.stepA;
    const begin = Math.max(this.x(0), layout.left);
    context.fillRect(begin, top, Math.min(this.x(model.map.end), layout.width) - begin, height);
    for (let i = this.firstStep(); i < cycles.length && reached[i]! <= this.view.x1; ++i) {
      const from = Math.max(this.x(running[i]!), layout.left);
      const width = Math.min(this.x(reached[i + 1]!), layout.width) - from;
      if (width < 1) continue;
      if (i % 2 === 1) {
        context.fillStyle = palette.stepB;
        context.fillRect(from, top, width, height);
      }
      if (width > 44) this.label(model.program.instructions.name[i]!, from, top + height / 2, width, palette.text);
    }
  }

  private firstStep(): number {
    const { reached } = this.model.map.steps;
    return Math.max(0, firstIndex(reached.length, (i) => reached[i]! > this.view.x0) - 1);
  }

  private label(text: string, x: number, y: number, width: number, colour: string): void {
    const { context } = this;
    context.font = `${this.fontSize}px ui-monospace, monospace`;
    context.textAlign = "center";
    context.fillStyle = colour;
    context.fillText(abridge(text, Math.floor((width - 4) / this.character)), x + width / 2, y);
  }
}
