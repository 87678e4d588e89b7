// Numbers with units for people.

const kMinus = "\u2212";

function signed(text: string): string {
  return text.replace("-", kMinus);
}

export function formatCount(value: number): string {
  return signed(value.toLocaleString("en-US", { maximumFractionDigits: 0 }));
}

// Three significant digits with a decimal prefix: "1.23k", "45.6M". From 1000 G on, all digits before the point.
export function formatShort(value: number): string {
  const size = Math.abs(value);
  for (const [unit, suffix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    // What rounds up to a unit has this unit: 999,950 is "1.00M".
    if (size < 0.9995 * unit) continue;
    const scaled = value / unit;
    return signed(Math.abs(scaled) < 999.5 ? scaled.toPrecision(3) : scaled.toFixed(0)) + suffix;
  }
  if (size >= 100 || size === 0) return signed(value.toFixed(0));
  return signed(size >= 0.001 ? String(Number(value.toPrecision(3))) : value.toExponential(1));
}

export function formatBytes(bytes: number): string {
  for (const [unit, suffix] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]] as const) {
    if (Math.abs(bytes) < unit) continue;
    const value = bytes / unit;
    return `${signed(String(Number(value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0))))} ${suffix}`;
  }
  return `${signed(String(bytes))} B`;
}

export function formatCycles(cycles: number): string {
  const size = Math.abs(cycles);
  if (size >= 1e6) return `${signed((cycles / 1e6).toFixed(size < 1e8 ? 2 : 1))} Mcycles`;
  if (size >= 1e4) return `${signed((cycles / 1e3).toFixed(1))} kcycles`;
  return `${formatCount(cycles)} ${Math.round(size) === 1 ? "cycle" : "cycles"}`;
}

// A time of the chip, given in cycles.
export function formatChipTime(cycles: number, clockHz: number): string {
  const seconds = cycles / clockHz;
  for (const [unit, suffix] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]] as const) {
    if (Math.abs(seconds) >= unit) return `${signed((seconds / unit).toFixed(2))} ${suffix}`;
  }
  return `${signed((seconds / 1e-9).toFixed(0))} ns`;
}

export function formatPercent(percent: number, digits = 2): string {
  return `${signed(percent.toFixed(digits))} %`;
}

export function formatGain(percent: number | undefined): string {
  if (percent === undefined || Number.isNaN(percent)) return "–";
  return (percent > 0 ? "+" : "") + formatPercent(percent);
}

export function formatDuration(seconds: number): string {
  if (seconds < 0.9995) return `${(seconds * 1000).toFixed(0)} ms`;
  if (seconds < 59.5) return `${seconds.toFixed(seconds < 9.95 ? 1 : 0)} s`;
  if (seconds < 60) return "1 min 0 s";
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// A time on an axis: "45 s", "1:30", "2:05 h".
export function formatClock(seconds: number): string {
  if (seconds < 59.95) return `${Number(seconds.toFixed(1))} s`;
  if (seconds < 60) return "1:00";
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
  return `${Math.floor(seconds / 3600)}:${two((seconds % 3600) / 60)} h`;
}

export function toNumbers(column: readonly (number | "NaN")[]): (number | null)[] {
  return column.map((value) => (typeof value === "number" ? value : null));
}

// Shortens a name in the middle, because HLO names differ at their ends.
export function abridge(text: string, limit: number): string {
  if (text.length <= limit) return text;
  if (limit < 4) return "";
  const tail = Math.floor((limit - 1) / 2);
  return `${text.slice(0, limit - 1 - tail)}…${text.slice(text.length - tail)}`;
}
