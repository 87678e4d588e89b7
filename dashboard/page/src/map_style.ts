// The lanes of a memory map on the page, their colours and the steps of their scales.
import { cssVariable } from "./dom";
import { kCopyRows } from "./map_model";

// The visible part: positions on the axis, and addresses in bytes.
export interface Viewport { x0: number; x1: number; y0: number; y1: number }

// The marks of the axis: at round numbers of `unit` positions, at least `least` units apart.
export interface Ticks { unit: number; least: number; format: (position: number, step: number) => string }

export type Colouring = "kind" | "gain";

export interface Lane { top: number; height: number }

export interface Layout {
  width: number;
  height: number;
  left: number;  // of the lanes; the names of the lanes are before it
  scale: number;  // of texts and narrow lanes: larger on very wide pages
  lanes: Record<"loops" | "use" | "memory" | "waits" | "in" | "out" | "hbm" | "steps" | "axis", Lane>;
}

export const kRowHeight = 7;
export const kLoopRow = 15;

const kWide = 2200;  // pixels

export function layOut(width: number, memoryHeight: number, loopRows: number): Layout {
  const scale = width > kWide ? 1.3 : 1;
  let top = 4;
  const lane = (height: number, gap = 5): Lane => {
    const made = { top, height: Math.round(height) };
    top += height === 0 ? 0 : made.height + gap;
    return made;
  };
  const lanes = {
    loops: lane(kLoopRow * scale * loopRows), use: lane(40 * scale), memory: lane(memoryHeight, 7 * scale), waits: lane(9 * scale),
    in: lane(kRowHeight * scale * kCopyRows), out: lane(kRowHeight * scale * kCopyRows), hbm: lane(34 * scale),
    steps: lane(20 * scale, 0), axis: lane(20 * scale, 0),
  };
  return { width, height: top, left: Math.round((width < 600 ? 66 : 78) * scale), scale, lanes };
}

export interface Palette {
  kinds: string[];
  gains: string[];  // from the largest loss to the largest gain
  text: string; muted: string; grid: string; panel: string; lane: string; onColour: string;
  wait: string; own: string; copies: string; pale: string; stepA: string; stepB: string; peak: string;
  hatch: CanvasPattern | null;
}

export function makePalette(context: CanvasRenderingContext2D): Palette {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d")!;
  pen.strokeStyle = cssVariable("--hatch");
  pen.lineWidth = 1.4;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return {
    kinds: [0, 1, 2, 3].map((kind) => cssVariable(`--kind-${kind}`)),
    gains: [-3, -2, -1, 0, 1, 2, 3].map((step) => cssVariable(`--gain-${step < 0 ? "m" : ""}${Math.abs(step)}`)),
    text: cssVariable("--text"), muted: cssVariable("--muted"), grid: cssVariable("--grid"),
    panel: cssVariable("--panel"), lane: cssVariable("--lane"), onColour: cssVariable("--on-colour"),
    wait: cssVariable("--wait"), own: cssVariable("--own"), copies: cssVariable("--copies"),
    pale: cssVariable("--pale"), stepA: cssVariable("--step-a"), stepB: cssVariable("--step-b"),
    peak: cssVariable("--peak"), hatch: context.createPattern(tile, "repeat"),
  };
}

// The step of --gain for a buffer's gain in cycles: logarithmic, because few tensors gain most.
export function gainStep(gain: number, total: number): number {
  const share = Math.abs(gain) / total;
  const size = share < 1e-4 ? 0 : share < 1e-3 ? 1 : share < 5e-3 ? 2 : 3;
  return gain < 0 ? -size : size;
}

// The step 1, 2 or 5 times a power of ten that is at least this large.
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  for (const factor of [1, 2, 5]) if (factor * power >= least) return factor * power;
  return 10 * power;
}

export function binaryStep(least: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(least, 1))));
}
