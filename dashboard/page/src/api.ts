// Questions to the server and the shape of its answers: proto/mallocmuzero/v1/dashboard.proto.

// JSON has no NaN, so protobuf writes unknown values as the text "NaN".
export type Column = (number | "NaN")[];

export interface Finding {
  level: "GOOD" | "NEUTRAL" | "WARNING";
  title: string;
  text: string;
}

export interface ProgramRow {
  name: string;
  hardware: string;
  self_play?: number;
  policy?: number;
  best?: number;
  greedy?: number;
  local_search?: number;
  against_default: boolean;
  versions: number;
  no_map: string;
}

export interface Gains {
  seconds: Column;
  self_play: Column;
  policy: Column;
  best: Column;
  greedy?: number;
  local_search?: number;
  reference: string;
}

export type CurveName =
  | "iteration" | "seconds" | "updates" | "games_per_second" | "simulations_per_second"
  | "playing_percent" | "batch_fill" | "policy_loss" | "value_loss" | "reward_loss"
  | "value_error" | "gradient_norm" | "learning_rate" | "replay_games" | "replay_decisions";

export interface Run {
  name: string;
  folder: string;
  version: string;
  silent_seconds?: number;
  interval_seconds?: number;
  iteration: number;
  seconds: number;
  games: number;
  decisions: number;
  updates: number;
  findings: Finding[];
  programs: ProgramRow[];
  curves: Record<CurveName, Column>;
  mean: Gains;
  has_cluster: boolean;
}

export interface RoleStatus {
  role: string;
  name: string;
  address: string;
  version: string;
  uptime_seconds: number;
  rss_bytes: string;
  blocked_on: string;
  trouble: string;
  figures: Record<string, number>;
  error: string;
}

export interface Cluster {
  healthy: boolean;
  roles: { role: RoleStatus; health: string; why: string }[];
}

export interface Version {
  id: string;
  title: string;
  cycles: number;
  seconds?: number;
  iteration?: number;
}

export interface Loop {
  name: string;
  begin: number;
  end: number;
  trip_count: number;
  trip_count_known: boolean;
  depth: number;
}

export interface Program {
  name: string;
  hardware: string;
  fast_memory_name: string;
  fast_memory_bytes: number;
  clock_hz: number;
  hbm_bytes_per_cycle: number;
  default_cycles?: number;
  all_hbm_cycles: number;
  instructions: { name: string[]; opcode: string[]; op_name: string[]; executions: number[] };
  buffers: {
    name: string[];
    shape: string[];
    op_name: string[];
    bytes: number[];
    unpadded_bytes: Column;
    kind: number[];
    first: number[];
    last: number[];
  };
  kinds: string[];
  loops: Loop[];
  versions: Version[];
}

export interface MemoryMap {
  id: string;
  title: string;
  cycles: number;
  stall_cycles: number;
  copies: number;
  copied_bytes: number;
  hbm_share: number;
  has_addresses: boolean;
  end: number;
  steps: {
    reached: number[];
    running: number[];
    wait_cycles: number[];
    wait_copy_share: number[];
    cycles: number[];
    own_share: number[];
    copy_share: number[];
  };
  intervals: {
    buffer: number[];
    begin: number[];
    end: number[];
    first: number[];
    last: number[];
    offset: number[];
    cross_program_prefetch: boolean[];
    reads: number[];
    writes: number[];
    updates: number[];
  };
  copies_of: {
    interval: number[];
    out: boolean[];
    queued: number[];
    needed: number[];
    wait_cycles: number[];
    queued_at: number[];
    needed_at: number[];
  };
  moves: { copy: number[]; begin: number[]; end: number[] };
  buffer_gain: number[];
  reasons: { buffer?: number; title: string; cycles_gained: number; why: string }[];
}

// The server wants a token, and the page has none or a wrong one.
export class TokenNeeded extends Error {}

const kTokenKey = "mallocmuzero-token";

// A tunnel that has died accepts connections and never answers.
const kAnswerMs = 30_000;

// Takes the token from the address, where it is behind #, and hides it there. The part behind # is
// never sent to a server.
export function takeTokenFromAddress(): void {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (found === null) return;
  history.replaceState(null, "", location.pathname);
  rememberToken(decoded(found[1]!));
}

// The text itself if it is not one that a browser has encoded, such as "100%".
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function rememberToken(token: string): void {
  sessionStorage.setItem(kTokenKey, token);
}

// Asks GET /api/`question`. Throws an Error with the server's message.
export async function ask<T>(question: string, parameters: Record<string, string> = {}): Promise<T> {
  const query = new URLSearchParams(parameters).toString();
  const token = sessionStorage.getItem(kTokenKey);
  const response = await fetch(`/api/${question}${query === "" ? "" : `?${query}`}`, {
    headers: token === null ? {} : { Authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(kAnswerMs),
  });
  if (response.status === 401) throw new TokenNeeded("this dashboard needs a token");
  const body: unknown = await response.json();
  if (!response.ok) throw new Error((body as { error: string }).error);
  return body as T;
}
