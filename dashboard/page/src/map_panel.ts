// One memory map on the page: a canvas with all lanes, and boxes above it for what the pointer marks.
// The marks are elements and not a second canvas, because a browser without a GPU blends a whole canvas
// in each frame.
import { make } from "./dom";
import { kCopyRows, type MapModel } from "./map_model";
import { MapPainter } from "./map_paint";
import { layOut, makePalette, type Colouring, type Layout, type Palette, type Ticks, type Viewport } from "./map_style";

// The parts of the map under the pointer.
export interface Hit {
  position: number;     // on the axis
  address?: number;     // only in the memory lane
  instruction: number;
  interval?: number;
  copy?: number;
}

// The marked instruction and the marked buffer, which all panels share.
export interface Marks { instruction?: number | undefined; buffer?: number | undefined }

const kMostPixelRatio = 2;  // more cannot be seen, and costs frames
const kMostOutlines = 60;

export class MapPanel {
  readonly element: HTMLElement;
  readonly canvas = make("canvas", { class: "map-canvas", attributes: { tabindex: "0" } });
  readonly title = make("h3");
  readonly figures = make("p", { class: "figures" });
  private readonly band = make("div", { class: "band" });
  private readonly outlines = make("div", { class: "outlines" });
  private readonly overlay = make("div", { class: "map-overlay", attributes: { "aria-hidden": "true" } }, [this.band, this.outlines]);
  private readonly stage = make("div", { class: "stage" }, [this.canvas, this.overlay]);
  private readonly context = this.canvas.getContext("2d", { alpha: false })!;
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
    this.canvas.width = Math.round(this.layout.width * ratio);
    this.canvas.height = Math.round(this.layout.height * ratio);
    this.canvas.style.height = `${this.layout.height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { memory } = this.layout.lanes;
    placeBox(this.overlay, this.layout.left, 0, this.lanesWidth, this.layout.height);
    placeBox(this.outlines, 0, memory.top, this.lanesWidth, memory.height);
    this.palette = makePalette(this.context);
  }

  draw(view: Viewport, colouring: Colouring, ticks: Ticks): void {
    if (this.model === null || this.palette === null) return;
    this.painter = new MapPainter(this.context, this.model, view, this.layout, this.palette, colouring);
    this.painter.paint(ticks);
  }

  // Marks an instruction over all lanes, and outlines the stays of a buffer.
  drawMarks(marks: Marks): void {
    const { model, painter, layout } = this;
    const { instruction, buffer } = marks;
    const has = model !== null && painter !== null && instruction !== undefined && instruction < model.instructionCount;
    this.band.hidden = !has;
    if (has) {
      const from = painter.x(model.map.steps.reached[instruction]!);
      const width = painter.x(model.map.steps.reached[instruction + 1]!) - from;
      placeBox(this.band, from - layout.left, 0, Math.max(width, 1), layout.lanes.axis.top);
    }
    const boxes = model === null || painter === null || buffer === undefined ? [] : this.outlinesOf(buffer);
    while (this.outlines.children.length < boxes.length) this.outlines.append(make("div", { class: "outline" }));
    [...this.outlines.children].forEach((element, i) => {
      const box = boxes[i];
      (element as HTMLElement).hidden = box === undefined;
      if (box !== undefined) placeBox(element as HTMLElement, ...box);
    });
  }

  // Positions within the memory lane: left, top, width and height. The lane cuts off the rest.
  private outlinesOf(buffer: number): [number, number, number, number][] {
    const { map, program, intervalsOfBuffer } = this.model!;
    const { left, width: end, lanes } = this.layout;
    const boxes: [number, number, number, number][] = [];
    for (const k of intervalsOfBuffer.get(buffer) ?? []) {
      // A box must not become millions of pixels wide.
      const x = Math.max(this.painter!.x(map.intervals.begin[k]!), left - 10);
      const right = Math.min(this.painter!.x(map.intervals.end[k]!), end + 10);
      if (right < left || x > end || boxes.length >= kMostOutlines) continue;
      const bottom = map.intervals.offset[k]!;
      const y = Math.max(this.painter!.y(bottom + program.buffers.bytes[buffer]!), lanes.memory.top - 10);
      const low = Math.min(this.painter!.y(bottom), lanes.memory.top + lanes.memory.height + 10);
      if (low >= y) boxes.push([x - left, y - lanes.memory.top, Math.max(right - x, 4), Math.max(low - y, 4)]);
    }
    return boxes;
  }

  // The parts of the map at a point of the page; null outside of the lanes.
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

function placeBox(element: HTMLElement, left: number, top: number, width: number, height: number): void {
  element.style.transform = `translate(${left}px, ${top}px)`;
  element.style.width = `${width}px`;
  element.style.height = `${height}px`;
}
