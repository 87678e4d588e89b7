// Imports a module of src/ that needs no browser.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const page = join(dirname(fileURLToPath(import.meta.url)), "..");

export async function importSource(name) {
  const built = await build({ entryPoints: [join(page, "src", name)], bundle: true, write: false, format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString("base64")}`);
}
