// The texts about a memory map for the tooltip, the table and the screen reader.
import type { Program } from "./api";
import { make } from "./dom";
import { formatBytes, formatChipTime, formatCount, formatCycles, formatPercent } from "./format";
import type { MapModel } from "./map_model";
import type { Hit } from "./map_panel";

export type Fact = [name: string, value: string];

export function placeOf(program: Program, instruction: number): string {
  const name = program.instructions.name[instruction];
  return name === undefined ? "the end" : `${name} (#${instruction})`;
}

// Padding as a share of the bytes in memory, in percent; null if it is unknown.
export function paddingPercent(program: Program, buffer: number): number | null {
  const unpadded = program.buffers.unpadded_bytes[buffer];
  const bytes = program.buffers.bytes[buffer]!;
  if (typeof unpadded !== "number" || unpadded > bytes) return null;
  return 100 * (1 - unpadded / bytes);
}

function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function gainText(cycles: number, program: Program): string {
  const total = program.default_cycles;
  if (total === undefined || cycles === 0) return "none";
  return `${cycles > 0 ? "saves" : "costs"} ${formatCycles(Math.abs(cycles))} (${formatPercent(Math.abs(100 * cycles / total))})`;
}

export function bufferFacts(model: MapModel, buffer: number): Fact[] {
  const { program, map } = model;
  const { buffers } = program;
  const padding = paddingPercent(program, buffer);
  const facts: Fact[] = [
    ["shape", buffers.shape[buffer] || "unknown"],
    ["size", formatBytes(buffers.bytes[buffer]!) +
      (padding === null ? "" : padding < 0.05 ? ", no padding" : `, ${formatPercent(padding, 1)} of it padding`)],
    ["kind", program.kinds[buffers.kind[buffer]!]!],
    ["needed", `#${buffers.first[buffer]!} to #${buffers.last[buffer]!}`],
  ];
  if (map.buffer_gain.length > 0) facts.push(["against the default", gainText(map.buffer_gain[buffer]!, program)]);
  if (buffers.op_name[buffer] !== "") facts.push(["made by", buffers.op_name[buffer]!]);
  return facts;
}

export function intervalFacts(model: MapModel, k: number): Fact[] {
  const { program, map } = model;
  const { intervals, copies_of: copies } = map;
  const bytes = program.buffers.bytes[intervals.buffer[k]!]!;
  const uses = ([["read", intervals.reads[k]!], ["write", intervals.writes[k]!], ["update", intervals.updates[k]!]] as const)
    .filter(([, count]) => count > 0).map(([noun, count]) => counted(count, noun));
  const facts: Fact[] = [
    ["in fast memory", `${placeOf(program, intervals.first[k]!)} to ${placeOf(program, intervals.last[k]!)}`],
    ["uses there", uses.length === 0 ? "none" : uses.join(", ")],
  ];
  if (map.has_addresses) {
    facts.push(["address", `${formatBytes(intervals.offset[k]!)} to ${formatBytes(intervals.offset[k]! + bytes)}`]);
  }
  if (intervals.cross_program_prefetch[k] === true) facts.push(["prefetch", "there when the program starts"]);
  for (const c of model.copiesOfInterval.get(k) ?? []) {
    const wait = copies.wait_cycles[c]!;
    facts.push([copies.out[c] === true ? "copy to HBM" : "copy in",
      `queued before #${copies.queued_at[c]!}, needed before ${placeOf(program, copies.needed_at[c]!)}` +
      (wait > 0 ? `; waits ${formatCycles(wait)}` : "")]);
  }
  return facts;
}

export function instructionFacts(model: MapModel, i: number): Fact[] {
  const { program, map } = model;
  const times = program.instructions.executions[i]!;
  const cycles = map.steps.cycles[i]!;
  const facts: Fact[] = [
    ["takes", `${times === 1 ? "" : `${formatCount(times)} × `}${formatCycles(cycles)} (${formatChipTime(cycles, program.clock_hz)})`],
    ["HBM bandwidth", `${formatPercent(100 * map.steps.own_share[i]!, 0)} own accesses, ${formatPercent(100 * map.steps.copy_share[i]!, 0)} copies`],
  ];
  if (map.steps.wait_cycles[i]! > 0) facts.push(["waits before", formatCycles(map.steps.wait_cycles[i]!)]);
  if (program.instructions.op_name[i] !== "") facts.push(["operation", program.instructions.op_name[i]!]);
  return facts;
}

export function factList(facts: Fact[]): HTMLElement {
  return make("dl", { class: "facts" }, facts.flatMap(([name, value]) =>
    [make("dt", { text: name }), make("dd", { text: value })]));
}

// The content of the tooltip.
export function tooltipOf(model: MapModel, hit: Hit): HTMLElement[] {
  const { program, map } = model;
  const content: HTMLElement[] = [];
  if (hit.interval !== undefined) {
    const buffer = map.intervals.buffer[hit.interval]!;
    content.push(
      make("h4", {}, [make("span", { class: `swatch kind-${program.buffers.kind[buffer]!}` }), program.buffers.name[buffer]!]),
      factList([...bufferFacts(model, buffer), ...intervalFacts(model, hit.interval)]));
  } else if (hit.address !== undefined) {
    content.push(make("p", { class: "note", text: `free at ${formatBytes(Math.max(0, Math.round(hit.address)))}` }));
  }
  content.push(
    make("h4", { class: "instruction", text: `#${hit.instruction} ${program.instructions.name[hit.instruction]!}` }),
    factList([["opcode", program.instructions.opcode[hit.instruction]!], ...instructionFacts(model, hit.instruction)]));
  return content;
}

// One line for screen readers.
export function spokenInterval(model: MapModel, k: number): string {
  const buffer = model.map.intervals.buffer[k]!;
  const facts = [...bufferFacts(model, buffer).slice(0, 3), ...intervalFacts(model, k)];
  return `${model.program.buffers.name[buffer]!}: ${facts.map(([name, value]) => `${name} ${value}`).join("; ")}`;
}
