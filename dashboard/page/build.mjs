// Bundles src/ into the four files that the binary serves. `npm run build` checks the types first.
//   node build.mjs [FOLDER]      FOLDER is dist by default
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const output = resolve(process.argv[2] ?? join(here, "dist"));

mkdirSync(output, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { dashboard: "src/main.ts" },
  outdir: output,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
copyFileSync(join(here, "src/index.html"), join(output, "index.html"));
const licence = readFileSync(join(here, "node_modules/uplot/LICENSE"), "utf8");
writeFileSync(
  join(output, "licences.txt"),
  `The page contains uPlot (https://github.com/leeoniya/uPlot), under this licence:\n\n${licence}`,
);
