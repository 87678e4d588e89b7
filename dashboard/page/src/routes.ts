// Addresses of the views, behind # in the URL.

export type Route = { view: "overview" } | { view: "map"; chip: string; program: string } | { view: "cluster" };

export function mapAddress(chip: string, program: string): string {
  return `#/map/${encodeURIComponent(chip)}/${encodeURIComponent(program)}`;
}

export function currentRoute(): Route {
  const parts = location.hash.replace(/^#\/?/, "").split("/");
  if (parts[0] === "cluster") return { view: "cluster" };
  if (parts[0] !== "map") return { view: "overview" };
  try {
    return { view: "map", chip: decodeURIComponent(parts[1] ?? ""), program: decodeURIComponent(parts[2] ?? "") };
  } catch {
    return { view: "map", chip: "", program: "" };
  }
}
