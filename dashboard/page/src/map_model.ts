// A memory map prepared for drawing: what is visible is found by binary search, and the bytes in use
// are summed once.
import type { MemoryMap, Program } from "./api";

export interface Occupancy {
  positions: Float64Array;  // ascending; between two of them the bytes are constant
  bytes: Float64Array[];    // of each kind of buffer, from each position on
  total: Float64Array;
  peak: number;             // largest total
  peakPosition: number;
}

// The first index in [0, count) for which `test` is true, or count. `test` must be monotone.
export function firstIndex(count: number, test: (i: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Spans sorted by their beginning, for "which of them overlap this range".
export class SpanIndex {
  private readonly order: Uint32Array;
  private readonly begins: Float64Array;
  private readonly latestEnd: Float64Array;  // the largest end of all spans up to this one

  constructor(begin: readonly number[], end: readonly number[]) {
    this.order = Uint32Array.from(begin.keys()).sort((a, b) => begin[a]! - begin[b]!);
    this.begins = Float64Array.from(this.order, (k) => begin[k]!);
    this.latestEnd = Float64Array.from(this.order, (k) => end[k]!);
    for (let i = 1; i < this.latestEnd.length; ++i) {
      this.latestEnd[i] = Math.max(this.latestEnd[i]!, this.latestEnd[i - 1]!);
    }
  }

  // Calls `visit` with every span that may overlap [from, to], in the order of their beginnings.
  visit(from: number, to: number, visit: (k: number) => void): void {
    const count = this.order.length;
    const start = firstIndex(count, (i) => this.latestEnd[i]! >= from);
    for (let i = start; i < count && this.begins[i]! <= to; ++i) visit(this.order[i]!);
  }
}

function occupancyOf(map: MemoryMap, program: Program): Occupancy {
  const { intervals } = map;
  const events: { position: number; kind: number; bytes: number }[] = [];
  intervals.buffer.forEach((buffer, k) => {
    const kind = program.buffers.kind[buffer]!;
    const bytes = program.buffers.bytes[buffer]!;
    events.push({ position: intervals.begin[k]!, kind, bytes }, { position: intervals.end[k]!, kind, bytes: -bytes });
  });
  // At the same position what ends comes first: its bytes may be taken again.
  events.sort((a, b) => a.position - b.position || a.bytes - b.bytes);
  const kinds = program.kinds.length;
  const positions: number[] = [0];
  const rows: number[][] = [new Array<number>(kinds).fill(0)];
  for (const event of events) {
    let row = rows[rows.length - 1]!;
    if (event.position > positions[positions.length - 1]!) {
      row = [...row];
      positions.push(event.position);
      rows.push(row);
    }
    row[event.kind]! += event.bytes;
  }
  const total = Float64Array.from(rows, (row) => row.reduce((sum, bytes) => sum + bytes, 0));
  let best = 0;
  total.forEach((bytes, i) => { if (bytes > total[best]!) best = i; });
  return {
    positions: Float64Array.from(positions),
    bytes: program.kinds.map((_, kind) => Float64Array.from(rows, (row) => row[kind]!)),
    total, peak: total[best] ?? 0, peakPosition: positions[best] ?? 0,
  };
}

// Rows of copies, so that copies that are on their way at the same time do not cover each other.
function copyRows(map: MemoryMap, rowCount: number): Uint8Array {
  const { copies_of: copies } = map;
  const rows = new Uint8Array(copies.interval.length);
  for (const out of [false, true]) {
    const ends = new Array<number>(rowCount).fill(-1);
    for (let c = 0; c < rows.length; ++c) {
      if (copies.out[c] !== out) continue;
      let row = ends.findIndex((end) => end <= copies.queued[c]!);
      if (row < 0) row = ends.indexOf(Math.min(...ends));
      ends[row] = Math.max(ends[row]!, copies.needed[c]!);
      rows[c] = row;
    }
  }
  return rows;
}

export const kCopyRows = 3;

export class MapModel {
  readonly stays: SpanIndex;
  readonly copies: SpanIndex;
  readonly occupancy: Occupancy;
  readonly copyRow: Uint8Array;
  readonly movesOfCopy: number[][];
  readonly copiesOfInterval = new Map<number, number[]>();
  readonly intervalsOfBuffer = new Map<number, number[]>();

  constructor(readonly map: MemoryMap, readonly program: Program) {
    this.stays = new SpanIndex(map.intervals.begin, map.intervals.end);
    this.copies = new SpanIndex(map.copies_of.queued, map.copies_of.needed);
    this.occupancy = occupancyOf(map, program);
    this.copyRow = copyRows(map, kCopyRows);
    this.movesOfCopy = map.copies_of.interval.map(() => []);
    map.moves.copy.forEach((copy, m) => this.movesOfCopy[copy]!.push(m));
    map.copies_of.interval.forEach((k, c) => push(this.copiesOfInterval, k, c));
    map.intervals.buffer.forEach((buffer, k) => push(this.intervalsOfBuffer, buffer, k));
  }

  get instructionCount(): number {
    return this.map.steps.cycles.length;
  }

  // The instruction that runs, or whose copies are waited for, at a position.
  instructionAt(position: number): number {
    const { reached } = this.map.steps;
    const after = firstIndex(reached.length, (i) => reached[i]! > position);
    return Math.min(Math.max(0, after - 1), this.instructionCount - 1);
  }

  // The interval that occupies an address at a position; -1 if there is none.
  intervalAt(position: number, address: number): number {
    const { intervals } = this.map;
    let found = -1;
    this.stays.visit(position, position, (k) => {
      const bottom = intervals.offset[k]!;
      const inside = intervals.begin[k]! <= position && position <= intervals.end[k]! &&
        bottom <= address && address < bottom + this.program.buffers.bytes[intervals.buffer[k]!]!;
      if (inside) found = k;
    });
    return found;
  }

  // The intervals that occupy bytes at a position.
  intervalsAt(position: number): number[] {
    const { intervals } = this.map;
    const found: number[] = [];
    this.stays.visit(position, position, (k) => {
      if (intervals.begin[k]! <= position && position < intervals.end[k]!) found.push(k);
    });
    return found;
  }

  // The copy at a position in a row of one direction; -1 if there is none.
  copyAt(position: number, out: boolean, row: number, slack: number): number {
    const { copies_of: copies } = this.map;
    let found = -1;
    this.copies.visit(position - slack, position + slack, (c) => {
      if (copies.out[c] === out && this.copyRow[c] === row && copies.queued[c]! - slack <= position &&
          position <= copies.needed[c]! + slack) {
        found = c;
      }
    });
    return found;
  }
}

function push<K>(map: Map<K, number[]>, key: K, value: number): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
