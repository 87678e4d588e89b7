// The figures of a cluster's roles since the page was opened.
import type { RoleStatus } from "./api";

export type Samples = (number | null)[];

// One sample for each answer of the server, the latest `most` of them.
export class ClusterHistory {
  readonly times: number[] = [];
  // For each figure and name of a role a sample of each time; null where the role did not tell the figure.
  private readonly figures: Map<string, Map<string, Samples>>;

  constructor(figures: readonly string[], private readonly most: number) {
    this.figures = new Map(figures.map((figure) => [figure, new Map<string, Samples>()]));
  }

  // The samples of a figure, by the names of the roles that told it.
  samplesOf(figure: string): ReadonlyMap<string, Samples> {
    return this.figures.get(figure)!;
  }

  add(time: number, roles: readonly Pick<RoleStatus, "name" | "figures">[]): void {
    const before = this.times.length;
    this.times.push(time);
    for (const [figure, ofRoles] of this.figures) {
      for (const samples of ofRoles.values()) samples.push(null);
      for (const { name, figures } of roles) {
        const value = figures[figure];
        if (value === undefined) continue;
        if (!ofRoles.has(name)) ofRoles.set(name, new Array<number | null>(before + 1).fill(null));
        ofRoles.get(name)![before] = value;
      }
    }
    if (this.times.length > this.most) this.forgetOldest();
  }

  private forgetOldest(): void {
    this.times.shift();
    for (const ofRoles of this.figures.values()) {
      for (const [name, samples] of ofRoles) {
        samples.shift();
        if (samples.every((sample) => sample === null)) ofRoles.delete(name);
      }
    }
  }
}
