// One memory map on the page: a canvas with all lanes, and a canvas above it for what the pointer marks.
import { make } from "./dom";
import { kCopyRows, type MapModel } from "./map_model";
import { MapPainter } from "./map_paint";
import { layOut, makePalette, type Colouring, type Layout, type Palette, type Viewport } from "./map_style";

// What is under the pointer.
export interface Hit {
  position: number;     // on the axis
  address?: number;     // only in the memory lane
  instruction: number;
  interval?: number;
  copy?: number;
}

// What is marked, in all panels alike: an instruction and a buffer.
export interface Marks { instruction?: number | undefined; buffer?: number | undefined }

const kMostPixelRatio = 2;  // more cannot be seen, and costs frames

export class MapPanel {
  readonly element: HTMLElement;
  readonly canvas = make("canvas", { class: "map-canvas", attributes: { tabindex: "0" } });
  readonly title = make("h3");
  readonly figures = make("p", { class: "figures" });
  private readonly overlay = make("canvas", { class: "map-overlay", attributes: { "aria-hidden": "true" } });
  private readonly stage = make("div", { class: "stage" }, [this.canvas, this.overlay]);
  private model: MapModel | null = null;
  private layout: Layout = layOut(100, 100, 0);
  private palette: Palette | null = null;
  private painter: MapPainter | null = null;

  constructor(name: string) {
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "memory map");
    this.canvas.setAttribute("aria-label", name);
    this.canvas.setAttribute("aria-describedby", "map-keys");
    this.element = make("section", { class: "card map-panel" }, [
      make("div", { class: "card-head" }, [this.title, this.figures]), this.stage,
    ]);
  }

  get lanesLeft(): number { return this.layout.left; }
  get lanesWidth(): number { return this.layout.width - this.layout.left; }
  get memoryHeight(): number { return this.layout.lanes.memory.height; }

  setModel(model: MapModel | null): void {
    this.model = model;
  }

  // Follows the width of the page, and takes the colours of the theme anew.
  resize(memoryHeight: number): void {
    const loops = this.model === null ? 0 : Math.max(0, ...this.model.program.loops.map((loop) => loop.depth + 1));
    this.layout = layOut(Math.max(240, this.stage.clientWidth), memoryHeight, loops);
    const ratio = Math.min(window.devicePixelRatio, kMostPixelRatio);
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.round(this.layout.width * ratio);
      canvas.height = Math.round(this.layout.height * ratio);
      canvas.style.height = `${this.layout.height}px`;
      canvas.getContext("2d")!.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.palette = makePalette(this.canvas.getContext("2d")!);
  }

  draw(view: Viewport, colouring: Colouring, formatTick: (position: number, step: number) => string): void {
    if (this.model === null || this.palette === null) return;
    const context = this.canvas.getContext("2d")!;
    this.painter = new MapPainter(context, this.model, view, this.layout, this.palette, colouring);
    this.painter.paint(formatTick);
  }

  // Draws the marked instruction over all lanes, and outlines the marked buffer and its copies.
  drawMarks(marks: Marks): void {
    const { model, painter, layout, palette } = this;
    const context = this.overlay.getContext("2d")!;
    context.clearRect(0, 0, layout.width, layout.height);
    if (model === null || painter === null || palette === null) return;
    context.save();
    context.beginPath();
    context.rect(layout.left, 0, layout.width - layout.left, layout.height);
    context.clip();
    if (marks.instruction !== undefined && marks.instruction < model.instructionCount) {
      const from = painter.x(model.map.steps.reached[marks.instruction]!);
      const width = painter.x(model.map.steps.reached[marks.instruction + 1]!) - from;
      context.globalAlpha = 0.16;
      context.fillStyle = palette.text;
      context.fillRect(from, 0, Math.max(width, 1), layout.lanes.axis.top);
      context.globalAlpha = 1;
    }
    if (marks.buffer !== undefined) this.outline(context, marks.buffer);
    context.restore();
  }

  private outline(context: CanvasRenderingContext2D, buffer: number): void {
    const { map, program, intervalsOfBuffer } = this.model!;
    const { memory } = this.layout.lanes;
    context.save();
    context.beginPath();
    context.rect(this.layout.left, memory.top, this.layout.width, memory.height);
    context.clip();
    for (const k of intervalsOfBuffer.get(buffer) ?? []) {
      const x = this.painter!.x(map.intervals.begin[k]!);
      const bottom = map.intervals.offset[k]!;
      const y = this.painter!.y(bottom + program.buffers.bytes[buffer]!);
      const width = Math.max(this.painter!.x(map.intervals.end[k]!) - x, 3);
      const height = Math.max(this.painter!.y(bottom) - y, 3);
      context.strokeStyle = this.palette!.panel;
      context.lineWidth = 5;
      context.strokeRect(x, y, width, height);
      context.strokeStyle = this.palette!.text;
      context.lineWidth = 2;
      context.strokeRect(x, y, width, height);
    }
    context.restore();
  }

  // What is at a point of the page; null outside of the lanes.
  hit(clientX: number, clientY: number, view: Viewport): Hit | null {
    const { model, layout } = this;
    const box = this.canvas.getBoundingClientRect();
    const x = clientX - box.left;
    const y = clientY - box.top;
    if (model === null || x < layout.left || x > layout.width || y < 0 || y > layout.height) return null;
    const perPixel = (view.x1 - view.x0) / this.lanesWidth;
    const position = view.x0 + (x - layout.left) * perPixel;
    const hit: Hit = { position, instruction: model.instructionAt(position) };
    const { memory, in: copiesIn, out } = layout.lanes;
    if (y >= memory.top && y <= memory.top + memory.height) {
      hit.address = view.y1 - ((y - memory.top) / memory.height) * (view.y1 - view.y0);
      const found = model.intervalAt(position, hit.address);
      if (found >= 0) hit.interval = found;
    }
    for (const lane of [copiesIn, out]) {
      if (y < lane.top || y >= lane.top + lane.height) continue;
      const row = Math.floor(((y - lane.top) / lane.height) * kCopyRows);
      const found = model.copyAt(position, lane === out, row, perPixel);
      if (found >= 0) {
        hit.copy = found;
        hit.interval = model.map.copies_of.interval[found]!;
      }
    }
    return hit;
  }
}
