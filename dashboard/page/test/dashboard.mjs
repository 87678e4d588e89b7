// Starts `mallocmuzero dashboard` on a made-up run and a headless Chromium that shows it.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const binaries = process.env.MALLOCMUZERO_BIN ?? join(root, "build/bin");

export const kLarge = "layers";
export const kHostile = "<script>document.title='taken over'</script>";

// The addresses of memory maps within the page.
export const mapOf = (program) => `#/map/small/${encodeURIComponent(program)}`;

function makeRun() {
  const folder = mkdtempSync(join(tmpdir(), "dashboard-test-"));
  const made = spawnSync(join(binaries, "dashboard_demo_run"), [join(folder, "run")], { stdio: "inherit" });
  if (made.status !== 0) throw new Error("dashboard_demo_run failed");
  return { path: join(folder, "run"), remove: () => rmSync(folder, { recursive: true }) };
}

// Resolves to the address that the dashboard prints, and a function that ends it.
export async function serve(run, flags = []) {
  const server = spawn(join(binaries, "mallocmuzero"),
    ["dashboard", "--run", run, "--address", "127.0.0.1:0", "--local-search", "0", ...flags],
    { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((done) => server.once("exit", done));
  const line = await new Promise((found, failed) => {
    createInterface({ input: server.stdout }).once("line", found);
    server.once("exit", () => failed(new Error("the dashboard ended at once")));
  });
  const address = /http:\/\/\S+/.exec(line)?.[0];
  if (address === undefined) throw new Error(`no address in: ${line}`);
  return { address, stop: async () => { server.kill("SIGTERM"); return ended; } };
}

async function launch() {
  return chromium.launch({
    executablePath: process.env.MALLOCMUZERO_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}

// Opens a page, and records all that the browser complains about.
async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(120_000);  // of a busy machine
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => { if (message.type() === "error") complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(address);
  return { page, complaints, close: () => context.close() };
}

// Waits until the view is drawn.
export async function drawn(page, view) {
  if (view === "overview") await page.waitForSelector(".tiles .tile");
  else await page.waitForFunction(() => {
    const body = document.querySelector(".map-body");
    return body !== null && !body.classList.contains("busy") && location.hash.endsWith(`/${encodeURIComponent(body.dataset.program)}`);
  });
  await nextFrame(page);
}

export async function nextFrame(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

// Waits until the page has asked for the run `count` times more, and has shown the answers.
export async function polled(page, count) {
  for (let k = 0; k < count; ++k) {
    const response = await page.waitForResponse((each) => each.url().endsWith("/api/run"));
    await response.finished();  // at first only its head has come
  }
  await nextFrame(page);
}

// For the tests of the file that calls it: a dashboard of a made-up run at `address`, the folder of the run at `run`, and a
// browser that opens pages. They end after the tests.
export function useDemo() {
  let run;
  let server;
  let browser;
  before(async () => {
    run = makeRun();
    server = await serve(run.path);
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    const code = await server?.stop();
    run?.remove();
    assert.equal(code, 0, "the dashboard ends with success after SIGTERM");
  });
  const openDrawn = async (hash, view, options) => {
    const opened = await open(browser, server.address + hash, options);
    await drawn(opened.page, view);
    return opened;
  };
  return {
    get address() { return server.address; },
    get run() { return run.path; },
    open: (address, options) => open(browser, address, options),
    openOverview: (options) => openDrawn("", "overview", options),
    openMap: (options) => openDrawn(mapOf(kLarge), "map", options),
  };
}
