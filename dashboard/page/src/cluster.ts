// The third view: the roles of a cluster, what each waits for, and its rates since the page was opened.
import type { Cluster, Finding } from "./api";
import { Chart, type Line } from "./charts";
import { ClusterHistory } from "./cluster_history";
import { make, showChildren } from "./dom";
import { formatBytes, formatClock, formatDuration, formatShort } from "./format";

const kMostSamples = 1800;

// Figures of roles that are drawn over time: name of the figure, title, and its unit.
const kFigures: [string, string, string][] = [
  ["games_per_second", "Games", "per second: played by each actor, seen by the learner"],
  ["updates_per_second", "Updates", "of the weights, per second"],
  ["inserts_per_second", "Inserts", "games that each shard accepts, per second"],
  ["samples_per_second", "Draws", "positions that each shard hands out, per second"],
  ["limiter_error_positions", "Limiter", "distance of the draws from their due number, in positions"],
  ["drawn_age", "Age of drawn positions", "updates since their weights"],
  ["policy_lag", "Lag", "updates that each actor's weights are behind"],
  ["spooled_bytes", "Spooled", "games that no shard has acknowledged"],
];

const kColours = ["--c-policy", "--c-best", "--c-self", "--c-local", "--c-greedy", "--muted"];

function figuresOf(figures: Record<string, number>): string {
  return Object.entries(figures).sort(([a], [b]) => a.localeCompare(b))
    .map(([name, value]) => name.endsWith("bytes") ? `${name.replace(/_/g, " ")} ${formatBytes(value)}`
      : name.endsWith("_per_second") ? `${name.replace(/_per_second$/, "").replace(/_/g, " ")} ${formatShort(value)}/s`
      : `${name.replace(/_/g, " ")} ${formatShort(value)}`).join(" · ");
}

// Says whether the cluster is well, and what its roles wait for.
export function clusterFinding(cluster: Cluster): Finding {
  const say = ({ role, health, why }: Cluster["roles"][number]): string =>
    `${role.name || role.address} is ${health}${why === "" ? "" : `: ${why}`}`;
  const having = (...healths: string[]): Cluster["roles"] => cluster.roles.filter(({ health }) => healths.includes(health));
  if (!cluster.healthy) {
    const bad = having("away", "blocked", "degraded");
    return { level: "WARNING", title: "Not healthy",
             text: bad.length > 0 ? `${bad.map(say).join("; ")}.` : "There are fewer actors than actor.expected." };
  }
  // Actors come and go, so a silent one is no fault.
  const silent = having("silent");
  const waiting = having("waiting");
  return { level: "GOOD", title: "Healthy",
           text: (silent.length === 0 ? `All ${cluster.roles.length} roles answer. ` : `${silent.map(say).join("; ")}. `) +
             (waiting.length === 0 ? `None of ${silent.length === 0 ? "them" : "the others"} waits.` : `Waits that are no fault: ${waiting.map(say).join("; ")}.`) };
}

export class ClusterView {
  readonly element = make("div", { class: "view" });
  private readonly verdict = make("p", { class: "finding neutral", attributes: { role: "status" } });
  private readonly rows = make("tbody");
  private readonly charts = new Map<string, Chart>();
  private readonly history = new ClusterHistory(kFigures.map(([figure]) => figure), kMostSamples);
  private readonly opened = performance.now();

  constructor() {
    const head = make("tr", {}, ["Role", "Name", "Address", "Health", "Up", "Memory", "Waits for", "Figures"]
      .map((name) => make("th", { text: name, attributes: { scope: "col" } })));
    const grid = make("div", { class: "grid" });
    for (const [figure, title, note] of kFigures) {
      const chart = new Chart({ title, note, height: 180, xLabel: "time",
                                formatX: formatClock, formatY: figure.endsWith("bytes") ? formatBytes : formatShort, syncKey: "cluster" });
      chart.element.hidden = true;
      this.charts.set(figure, chart);
      grid.append(chart.element);
    }
    this.element.append(
      make("h2", { class: "visually-hidden", text: "Cluster" }), this.verdict,
      make("section", { class: "card", attributes: { "aria-label": "Roles" } }, [
        make("div", { class: "card-head" }, [make("h3", { text: "Roles" })]),
        make("div", { class: "scroll", attributes: { tabindex: "0", role: "region", "aria-label": "Table of roles" } },
             [make("table", {}, [make("thead", {}, [head]), this.rows])]),
      ]), grid);
  }

  update(cluster: Cluster): void {
    const finding = clusterFinding(cluster);
    this.verdict.className = `finding ${finding.level.toLowerCase()}`;
    showChildren(this.verdict, [make("strong", { text: finding.title }), make("span", { text: finding.text })]);
    showChildren(this.rows, cluster.roles.map(({ role, health, why }) => make("tr", {}, [
      make("td", { text: role.role.toLowerCase() }),
      make("th", { text: role.name, attributes: { scope: "row" } }),
      make("td", { text: role.address }),
      make("td", {}, [make("span", { class: `health ${health}`, text: health })]),
      make("td", { class: "number", text: role.uptime_seconds > 0 ? formatDuration(role.uptime_seconds) : "–" }),
      make("td", { class: "number", text: Number(role.rss_bytes) > 0 ? formatBytes(Number(role.rss_bytes)) : "–" }),
      make("td", { class: "wide", text: why === "" ? "–" : why }),
      make("td", { class: "wide note", text: figuresOf(role.figures) }),
    ])));
    this.addSample(cluster);
  }

  repaint(): void {
    for (const chart of this.charts.values()) chart.repaint();
  }

  private addSample(cluster: Cluster): void {
    this.history.add((performance.now() - this.opened) / 1000, cluster.roles.map(({ role }) => role));
    for (const [figure, chart] of this.charts) {
      const ofRoles = [...this.history.samplesOf(figure)];
      chart.element.hidden = ofRoles.length === 0;
      if (ofRoles.length === 0) continue;
      chart.update(this.history.times, ofRoles.map(([name, values], i): Line => ({ name, colour: kColours[i % kColours.length]!, values: [...values] })));
    }
  }
}
