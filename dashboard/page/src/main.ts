// Starts the page: asks the server every few seconds and shows the view that the address names.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { ask, rememberToken, takeTokenFromAddress, TokenNeeded, type Cluster, type Run } from "./api";
import { clusterFinding, ClusterView } from "./cluster";
import { byId, make, showChildren } from "./dom";
import { formatDuration } from "./format";
import { MapView } from "./map_view";
import { Overview } from "./overview";
import { currentRoute, mapAddress } from "./routes";

const kPollMs = 2000;
const kRetryMs = 5000;  // after an error

class Page {
  private readonly overview = new Overview();
  private readonly map = new MapView();
  private readonly cluster = new ClusterView();
  private readonly main = byId("main");
  private run: Run | null = null;
  private timer = 0;
  private busy = false;
  private again = false;

  start(): void {
    takeTokenFromAddress();
    this.setUpTheme();
    // By itself the link would go to an address behind #, which would name another view.
    document.querySelector(".skip")!.addEventListener("click", (event) => {
      event.preventDefault();
      this.main.focus();
    });
    window.addEventListener("hashchange", () => void this.poll());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) void this.poll(); });
    void this.poll();
  }

  private setUpTheme(): void {
    const select = byId<HTMLSelectElement>("theme");
    const apply = (): void => {
      if (select.value === "auto") delete document.documentElement.dataset["theme"];
      else document.documentElement.dataset["theme"] = select.value;
      for (const view of [this.overview, this.map, this.cluster]) view.repaint();
    };
    select.value = localStorage.getItem("mallocmuzero-theme") ?? "auto";
    select.addEventListener("change", () => {
      localStorage.setItem("mallocmuzero-theme", select.value);
      apply();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
    apply();
  }

  private async poll(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    clearTimeout(this.timer);
    let wait = kPollMs;
    try {
      this.run = await ask<Run>("run");
      await this.show(this.run);
    } catch (error) {
      wait = kRetryMs;
      if (error instanceof TokenNeeded) {
        this.askForToken();
        this.busy = false;
        return;
      }
      this.sayLive("lost", `no answer: ${(error as Error).message}`);
    }
    this.busy = false;
    if (this.again) {
      this.again = false;
      void this.poll();
      return;
    }
    // A hidden page asks nothing; it asks at once when it is shown again.
    this.timer = window.setTimeout(() => { if (!document.hidden) void this.poll(); }, wait);
  }

  private async show(run: Run): Promise<void> {
    byId("run-name").textContent = run.name;
    showChildren(byId("footer"), [
      make("span", { text: `mallocMuZero ${run.version} · ${run.folder} · ` }),
      make("a", { text: "licences", attributes: { href: "/licences.txt" } }),
    ]);
    this.sayHowLive(run);
    const route = currentRoute();
    this.showTabs(run, route.view);
    document.title = `${run.name} – mallocMuZero`;
    if (route.view === "map") {
      this.place(this.map.element);
      await this.map.update(run, route.chip, route.program);
    } else if (route.view === "cluster" && run.has_cluster) {
      this.place(this.cluster.element);
    } else {
      this.place(this.overview.element);
      await this.overview.update(run);
    }
    // Every view asks, so that the cluster's charts have no gaps.
    if (!run.has_cluster) return;
    const cluster = await ask<Cluster>("cluster");
    this.cluster.update(cluster);
    this.overview.updateCluster(clusterFinding(cluster));
  }

  private place(view: HTMLElement): void {
    if (this.main.firstElementChild !== view) this.main.replaceChildren(view);
  }

  private showTabs(run: Run, current: string): void {
    const drawn = run.programs.find((row) => row.no_map === "") ?? run.programs[0];
    const tabs: [string, string, string][] = [
      ["overview", "Overview", "#/"],
      ["map", "Memory map", drawn === undefined ? "#/map" : mapAddress(drawn.hardware, drawn.name)],
    ];
    if (run.has_cluster) tabs.push(["cluster", "Cluster", "#/cluster"]);
    showChildren(byId("tabs"), tabs.map(([view, text, href]) =>
      make("a", { text, attributes: { href, ...(view === current ? { "aria-current": "page" } : {}) } })));
  }

  private sayHowLive(run: Run): void {
    if (run.silent_seconds === undefined) {
      this.sayLive("idle", "no iteration yet");
      return;
    }
    const usual = run.interval_seconds ?? 10;
    const live = run.silent_seconds < Math.max(15, 4 * usual);
    this.sayLive(live ? "on" : "idle", live ? "live" : `last iteration ${formatDuration(run.silent_seconds)} ago`);
  }

  private sayLive(state: string, text: string): void {
    const live = byId("live");
    live.className = `live ${state}`;
    if (live.textContent !== text) live.textContent = text;
  }

  private askForToken(): void {
    const input = make("input", { attributes: { type: "password", autocomplete: "off", required: "", id: "token" } });
    const form = make("form", { class: "card token" }, [
      make("h2", { text: "This dashboard needs a token" }),
      make("p", { class: "note", text: "It was printed when the dashboard started, or is in the file of --token-file." }),
      make("label", { text: "Token", attributes: { for: "token" } }), input,
      make("button", { text: "Show the dashboard", attributes: { type: "submit" } }),
    ]);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      rememberToken(input.value.trim());
      void this.poll();
    });
    this.sayLive("lost", sessionStorage.length > 0 ? "wrong token" : "token needed");
    this.main.replaceChildren(form);
    input.focus();
  }
}

new Page().start();
