import { launch, open } from "./dashboard.mjs";
import { spawn } from "node:child_process"; import { createInterface } from "node:readline";
const server = spawn("/tmp/dash/bin/mallocmuzero", ["dashboard", "--run", "/tmp/dash/run2", "--local-search", process.env.LS ?? "5", "--address", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
const line = await new Promise((f) => createInterface({ input: server.stdout }).once("line", f));
const address = /http:\/\/\S+/.exec(line)[0];
const browser = await launch(); const out = "/tmp/dash/docshots/";
const map = "#/map/tpu_v4i/axial_2x256_b6x128";
const ready = (page) => page.waitForFunction(() => { const b = document.querySelector(".map-body"); return b && b.dataset.program && !b.classList.contains("busy"); });
{ const { page } = await open(browser, address, { viewport: { width: 1280, height: 800 } });
  await page.waitForSelector(".tiles .tile");
  await page.waitForFunction(() => !document.querySelector(".view").classList.contains("without-local") , null, { timeout: 60000 }).catch(() => 0);
  await page.waitForTimeout(Number(process.env.WAIT ?? 20000)); await page.screenshot({ path: out + "overview.png", clip: { x: 0, y: 0, width: 1280, height: 1000 }, fullPage: true });
  await page.goto(address + map); await ready(page); await page.waitForTimeout(700);
  await page.screenshot({ path: out + "map.png", fullPage: true }); }
{ const { page } = await open(browser, address + map, { viewport: { width: 1280, height: 800 }, colorScheme: "dark" });
  await ready(page); await page.waitForTimeout(500);
  await page.getByLabel("Colour").selectOption("gain"); 
  const canvas = page.locator(".map-canvas").first(); await canvas.focus(); for (let k = 0; k < 4; ++k) await page.keyboard.press("+");
  const box = await canvas.boundingBox(); await page.mouse.move(box.x + 430, box.y + 130); await page.waitForTimeout(300);
  await page.screenshot({ path: out + "map-zoomed-dark.png" }); }
{ const { page } = await open(browser, address + map, { viewport: { width: 2560, height: 1440 }, colorScheme: "dark" });
  await ready(page); await page.getByLabel("Axis").selectOption("instructions"); await page.waitForTimeout(700); await page.screenshot({ path: out + "x2560.png" }); }
await browser.close(); server.kill();
