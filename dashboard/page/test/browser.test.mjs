// The page in a real browser: what it shows, live updates, keys of the map, themes, sizes, frame times.
//   node --test test/browser.test.mjs        with build/bin/mallocmuzero, dashboard_demo_run and chromium
// MALLOCMUZERO_SCREENSHOTS=FOLDER also stores a picture of every view, size and theme.
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { drawn, kHostile, kLarge, mapOf, nextFrame, polled, serve, useDemo } from "./dashboard.mjs";

const kSizes = [[375, 812], [768, 1024], [1440, 900], [3840, 2160]];
const kLongestFrameMs = 50;

const demo = useDemo();

test("the overview shows the run, and a hostile name as text", async () => {
  const { page, complaints, close } = await demo.openOverview();
  assert.equal(await page.textContent("#run-name"), "run");
  assert.match(await page.textContent(".findings"), /Learning/);
  assert.match(await page.textContent(".tiles"), /Best mapping/);
  assert.equal(await page.locator("section[aria-label=Programs] tbody tr").count(), 2);
  assert.ok((await page.locator("tbody th").allTextContents()).some((text) => text.startsWith(kHostile)));
  assert.equal(await page.locator("script").count(), 1);
  await page.goto(demo.address + mapOf(kHostile));
  await drawn(page, "map");
  assert.equal(await page.title(), "run – mallocMuZero");
  assert.deepEqual(complaints, []);
  await close();
});

test("the page follows the run while it appends", async () => {
  const { page, close } = await demo.openOverview();
  const metrics = join(demo.run, "metrics.jsonl");
  const last = JSON.parse(readFileSync(metrics, "utf8").trimEnd().split("\n").at(-1));
  const next = { ...last, iteration: last.iteration + 1, seconds: last.seconds + 2, updates: 4321 };
  appendFileSync(metrics, `${JSON.stringify(next)}\n`);
  await page.waitForFunction(() => document.querySelector(".tiles")?.textContent?.includes("4,321"));
  assert.match(await page.textContent("#live"), /live/);
  await close();
});

// What the first canvas shows, as a number.
const picture = (page) => page.evaluate(() => {
  const canvas = document.querySelector(".map-canvas");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let hash = 0;
  for (let i = 0; i < pixels.length; i += 4) hash = (hash * 31 + pixels[i] + pixels[i + 1] * 7 + pixels[i + 2] * 13) | 0;
  return hash;
});

test("the lists of programs are those of a run that begins in the place of another", async () => {
  const { page, close } = await demo.openOverview();
  const kCurve = "select[aria-label='Program of the curve']";
  const texts = (select) => page.locator(`${select} option`).allTextContents();
  const [mean, ...before] = await texts(kCurve);
  await page.goto(demo.address + mapOf(kLarge));
  await drawn(page, "map");
  await page.route("**/api/run", async (route) => {
    const response = await route.fetch();
    const run = await response.json();
    for (const row of run.programs) row.name = `next ${row.name}`;
    await route.fulfill({ response, json: run });
  });
  await polled(page, 2);
  const after = before.map((text) => `next ${text}`);
  assert.deepEqual(await texts("select.program"), after.map((text) => text.replace(" on ", " · ")));
  await page.getByRole("link", { name: "Overview" }).click();
  await polled(page, 2);
  assert.deepEqual(await texts(kCurve), [mean, ...after]);
  await close();
});

test("the map zooms and moves by keys, wheel and drag", async () => {
  const { page, close } = await demo.openMap();
  const canvas = page.locator(".map-canvas").first();
  await canvas.focus();
  const whole = await picture(page);
  for (const keys of [["+"], ["+", "ArrowRight"], ["Shift++"], ["w", "d", "ArrowUp"]]) {
    for (const key of keys) await page.keyboard.press(key);
    await nextFrame(page);
    assert.notEqual(await picture(page), whole, `keys ${keys}`);
    await page.keyboard.press("0");
    await nextFrame(page);
    assert.equal(await picture(page), whole, "0 shows everything again");
  }
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await nextFrame(page);
  const zoomed = await picture(page);
  assert.notEqual(zoomed, whole, "wheel");
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 120, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  await nextFrame(page);
  assert.notEqual(await picture(page), zoomed, "drag");
  await close();
});

test("the pointer shows the tensor and the instruction", async () => {
  const { page, close } = await demo.openMap();
  for (let k = 0; k < 5; ++k) await page.getByRole("button", { name: "Zoom in" }).click();
  const box = await page.locator(".map-canvas").first().boundingBox();
  const tooltip = page.locator(".tooltip");
  let text = "";
  for (let k = 0; k < 40 && !/in fast memory/.test(text); ++k) {
    await page.mouse.move(box.x + box.width * (0.2 + 0.015 * k), box.y + 60 + ((k * 37) % 200));
    await nextFrame(page);
    text = (await tooltip.isVisible()) ? await tooltip.textContent() : "";
  }
  assert.match(text, /value\.\d+/);
  assert.match(text, /address.*KiB/);
  assert.match(text, /#\d+ \S+/);
  assert.match(text, /HBM bandwidth/);
  await page.locator(".map-canvas").first().focus();
  await page.keyboard.press("]");
  assert.match(await page.locator("[aria-live=polite]").textContent(), /value\.\d+: shape/);
  await close();
});

test("the slider goes through the run's mappings, and the table sorts", async () => {
  const { page, complaints, close } = await demo.openMap();
  const title = page.locator(".map-panel h3").first();
  assert.equal(await title.textContent(), "best #3, found by local_search");
  await page.getByRole("button", { name: "Previous mapping" }).click();
  await page.waitForFunction(() => document.querySelector(".map-panel h3").textContent === "best #2, found by greedy");
  const slider = page.getByRole("slider", { name: /history/ });
  await slider.focus();
  await page.keyboard.press("Home");
  await page.waitForFunction(() => document.querySelector(".map-panel h3").textContent.startsWith("best #1"));
  assert.match(await slider.getAttribute("aria-valuetext"), /1 of 3/);
  await page.getByLabel("Which tensors").selectOption("all");
  await page.getByRole("button", { name: "Size" }).click();
  await page.getByRole("button", { name: "Size" }).click();
  assert.ok(["ascending", "descending"].includes(await page.locator("th", { hasText: "Size" }).getAttribute("aria-sort")));
  await page.getByLabel("Axis").selectOption("instructions");
  await page.getByLabel("Colour").selectOption("gain");
  await page.getByLabel("Compare with").selectOption("none");
  await page.waitForFunction(() => document.querySelectorAll(".map-panel")[1].hidden);
  assert.deepEqual(complaints, []);
  await close();
});

test("a map that the server did not give is asked for again", async () => {
  const { page, close } = await demo.openOverview();
  let refused = 0;
  await page.route("**/api/map?*", (route) => ++refused <= 2 ? route.abort() : route.continue());
  await page.getByRole("link", { name: "Memory map of layers" }).click();
  await page.waitForFunction(() => document.querySelector("#live").textContent.startsWith("no answer"));
  await drawn(page, "map");
  assert.equal(await page.locator(".map-panel h3").first().textContent(), "best #3, found by local_search");
  await close();
});

test("a mapping that the slider did not get is asked for again", async () => {
  const { page, close } = await demo.openMap();
  let refused = 0;
  await page.route("**/api/map?*", (route) => ++refused <= 2 ? route.abort() : route.continue());
  await page.getByRole("button", { name: "Previous mapping" }).click();
  await page.waitForFunction(() => document.querySelector(".map-panel h3").textContent === "best #2, found by greedy");
  assert.ok(refused > 2);
  await close();
});

test("a narrow page shows each reason without scrolling sideways", async () => {
  const { page, close } = await demo.openMap({ viewport: { width: 375, height: 812 } });
  const reason = await page.locator(".reasons td.wide").first().boundingBox();
  assert.ok(reason.x >= 0 && reason.x + reason.width <= 375, `from ${reason.x} px, ${reason.width} px wide`);
  assert.match(await page.locator("section[aria-label=Reasons]").ariaSnapshot(), /row "\S+ [+−]\d/);
  await close();
});

test("another program has no marked instruction", async () => {
  const { page, close } = await demo.openMap();
  const note = page.locator("section[aria-label=Tensors] .note");
  await page.getByLabel("Which tensors").selectOption("marked");
  assert.equal(await note.textContent(), "Click an instruction in the map first.");
  await page.locator(".map-canvas").first().click();
  assert.match(await note.textContent(), /rows/);
  await page.locator("select.program").selectOption(mapOf(kHostile));
  await drawn(page, "map");
  assert.equal(await note.textContent(), "Click an instruction in the map first.");
  await close();
});

// Contrast of two colours as WCAG 2 defines it.
function contrast(a, b) {
  const luminance = (text) => {
    const parts = text.match(/[\d.]+/g).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

test("both themes are readable, and the choice stays", async () => {
  const backgrounds = [];
  for (const colorScheme of ["light", "dark"]) {
    const { page, close } = await demo.openOverview({ colorScheme });
    const colours = await page.evaluate(() => [".tile .value", ".tile dt", ".finding strong", "td a", "h1"].map((selector) => {
      const element = document.querySelector(selector);
      let under = element;
      while (getComputedStyle(under).backgroundColor === "rgba(0, 0, 0, 0)") under = under.parentElement;
      return [selector, getComputedStyle(element).color, getComputedStyle(under).backgroundColor];
    }));
    for (const [selector, text, under] of colours) assert.ok(contrast(text, under) >= 4.5, `${colorScheme} ${selector}`);
    backgrounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    await page.getByLabel("Theme").selectOption(colorScheme === "light" ? "dark" : "light");
    await page.reload();
    await drawn(page, "overview");
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), backgrounds.at(-1));
    await close();
  }
  assert.notEqual(backgrounds[0], backgrounds[1]);
});

test("nothing overflows from 375 pixels to 4K", async () => {
  const folder = process.env.MALLOCMUZERO_SCREENSHOTS;
  if (folder !== undefined) mkdirSync(folder, { recursive: true });
  for (const colorScheme of folder === undefined ? ["light"] : ["light", "dark"]) {
    for (const [width, height] of kSizes) {
      const { page, close } = await demo.open(demo.address, { viewport: { width, height }, colorScheme });
      for (const [hash, view] of [["#/", "overview"], [mapOf(kLarge), "map"], [mapOf(kHostile), "map"]]) {
        await page.goto(demo.address + hash);
        await drawn(page, view);
        const wide = await page.evaluate(() => {
          const inside = (element) => element.closest(".scroll, .visually-hidden, .skip, .tooltip") !== null;
          return document.documentElement.scrollWidth > window.innerWidth
            ? [...document.body.querySelectorAll("*")]
              .filter((element) => !inside(element) && element.getBoundingClientRect().right > window.innerWidth + 1)
              .map((element) => `${element.tagName}.${element.className}`).slice(0, 5)
            : [];
        });
        assert.deepEqual(wide, [], `${width} px, ${hash}`);
        if (folder !== undefined) {
          const name = `${view}${hash === mapOf(kHostile) ? "-small" : ""}-${width}-${colorScheme}.png`;
          await page.screenshot({ path: join(folder, name), fullPage: true });
        }
      }
      await close();
    }
  }
});

// Turns the wheel over the first map: zooms in and out, and moves.
function wheel(step) {
  const canvas = document.querySelector(".map-canvas");
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new WheelEvent("wheel", {
    bubbles: true, cancelable: true, clientX: box.left + box.width * (0.3 + (step % 10) * 0.04), clientY: box.top + 100,
    ...(step % 3 === 2 ? { deltaX: 60 } : { deltaY: step % 24 < 12 ? -90 : 90, ctrlKey: true }),
  }));
}

// Zooms and moves for 60 frames and returns the longest time between two of them.
async function longestFrame(page) {
  return page.evaluate(async (turn) => {
    const turnWheel = new Function(`return ${turn}`)();
    performance.clearMeasures();
    const gaps = [];
    let before = await new Promise(requestAnimationFrame);
    for (let step = 0; step < 60; ++step) {
      turnWheel(step);
      const now = await new Promise(requestAnimationFrame);
      gaps.push(now - before);
      before = now;
    }
    return { frames: performance.getEntriesByName("memory map frame").length, ms: Math.max(...gaps.slice(2)) };
  }, wheel.toString());
}

// The most processor time that the page's thread takes for one frame, drawing included.
async function mostProcessorTime(page) {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  const threadSeconds = async () => (await client.send("Performance.getMetrics")).metrics.find((m) => m.name === "ThreadTime").value;
  let most = 0;
  for (let step = 0; step < 48; ++step) {
    const before = await threadSeconds();
    await page.evaluate(`(${wheel.toString()})(${step})`);
    await nextFrame(page);
    if (step >= 2) most = Math.max(most, 1000 * (await threadSeconds() - before));
  }
  return most;
}

test("a program of 1,500 instructions pans and zooms without a long frame", async () => {
  for (const [width, height] of [[1440, 900], [3840, 2160]]) {
    const { page, close } = await demo.openMap({ viewport: { width, height }, bypassCSP: true });
    await longestFrame(page);  // compiles the code
    const processor = await mostProcessorTime(page);
    // Other processes may take the processor away for a while, so the best of several rounds counts.
    let best = Infinity;
    for (let round = 0; round < 8 && best >= kLongestFrameMs; ++round) {
      const { frames, ms } = await longestFrame(page);
      assert.ok(frames >= 50, `${frames} frames were drawn`);
      best = Math.min(best, ms);
    }
    console.log(`${width} px: longest frame ${best.toFixed(1)} ms, most processor time of a frame ${processor.toFixed(1)} ms`);
    assert.ok(processor < kLongestFrameMs, `${width} px: a frame took ${processor} ms of processor time`);
    const busy = loadavg()[0] > 2 * cpus().length;
    if (busy) console.log(`*** NOT TESTED: the time between frames, because the machine is busy: load ${loadavg()[0]} ***`);
    else assert.ok(best < kLongestFrameMs, `${width} px: a frame took ${best} ms`);
    await close();
  }
});

test("the cluster's view names roles that do not answer", async () => {
  const config = join(demo.run, "cluster.textproto");
  // Nothing listens on these ports.
  writeFileSync(config, `learner { workloads: "." run_dir: "." address: "127.0.0.1:9" }
    replay { name: "shard-0" address: "127.0.0.1:10" mode: MEMORY }`);
  const beside = await serve(demo.run, ["--config", config]);
  const { page, complaints, close } = await demo.open(beside.address);
  await page.getByRole("link", { name: "Cluster" }).click();
  await page.waitForSelector("section[aria-label=Roles] tbody tr");
  assert.match(await page.textContent(".finding"), /Not healthy.*shard-0 is away/);
  assert.equal(await page.locator("section[aria-label=Roles] tbody tr").count(), 2);
  assert.deepEqual(complaints, []);
  await close();
  await beside.stop();
});

test("a dashboard with a token asks for it", async () => {
  const file = join(demo.run, "token");
  writeFileSync(file, "open sesame\n");
  const guarded = await serve(demo.run, ["--token-file", file]);
  const { page, close } = await demo.open(guarded.address);
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Show the dashboard" }).click();
  await page.waitForFunction(() => document.querySelector("#live").textContent === "wrong token");
  await page.getByLabel("Token").fill("open sesame");
  await page.getByRole("button", { name: "Show the dashboard" }).click();
  await drawn(page, "overview");
  await close();
  const second = await demo.open(`${guarded.address}#token=${encodeURIComponent("open sesame")}`);
  await drawn(second.page, "overview");
  assert.ok(!second.page.url().includes("sesame"), "the token does not stay in the address");
  await second.close();
  // It may be pasted as it is.
  writeFileSync(file, "100%\n");
  const percent = await serve(demo.run, ["--token-file", file]);
  const third = await demo.open(`${percent.address}#token=100%`);
  await drawn(third.page, "overview");
  await third.close();
  await percent.stop();
  await guarded.stop();
});
