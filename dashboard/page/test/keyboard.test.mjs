// The page for who uses a keyboard or a screen reader, in a real browser: focus, names, marked text.
//   node --test test/keyboard.test.mjs        with build/bin/mallocmuzero, dashboard_demo_run and chromium
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn, kLarge, mapOf, polled, useDemo } from "./dashboard.mjs";

const demo = useDemo();

test("the keys go to the stays beside the one that was clicked, and from the last to the first", async () => {
  const { page, close } = await demo.openMap();
  const spoken = () => page.locator("[aria-live=polite]").textContent();
  const canvas = page.locator(".map-canvas").first();
  await canvas.focus();
  await page.keyboard.press("[");
  const last = await spoken();
  await page.keyboard.press("]");
  const first = await spoken();
  assert.match(first, /in fast memory \S+ \(#0\)/);
  await page.keyboard.press("[");
  assert.equal(await spoken(), last);
  await page.keyboard.press("Escape");
  for (let k = 0; k < 5; ++k) await page.getByRole("button", { name: "Zoom in" }).click();
  const box = await canvas.boundingBox();
  for (let k = 0; k < 40 && (await spoken()) === last; ++k) {
    await page.mouse.click(box.x + box.width * (0.2 + 0.015 * k), box.y + 60 + ((k * 37) % 200));
  }
  const clicked = await spoken();
  assert.notEqual(clicked, last);
  await canvas.focus();
  await page.keyboard.press("]");
  assert.notEqual(await spoken(), clicked);
  await page.keyboard.press("[");
  assert.equal(await spoken(), clicked);
  await close();
});

test("what does not change stays in place while the page asks again", async () => {
  const { page, close } = await demo.openOverview();
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  for (const name of [/Memory map of layers/, "licences", "Memory map"]) {
    const link = page.getByRole("link", { name, exact: true });
    await link.focus();
    const text = await focused();
    await polled(page, 2);
    assert.equal(await focused(), text, `the focus stays at ${name}`);
  }
  await page.evaluate(() => getSelection().selectAllChildren(document.querySelector(".tile .value")));
  const marked = await page.evaluate(() => getSelection().toString());
  await polled(page, 2);
  assert.equal(await page.evaluate(() => getSelection().toString()), marked, "marked text stays marked");
  await page.getByRole("link", { name: "Memory map", exact: true }).focus();
  await page.keyboard.press("Enter");
  await drawn(page, "map");
  assert.equal(await focused(), "Memory map", "the focus stays at the tab that was chosen");
  await close();
});

test("a column is sorted by the keyboard, and keeps the focus", async () => {
  const { page, close } = await demo.openMap();
  await page.getByRole("button", { name: "Kind" }).focus();
  for (const order of ["ascending", "descending"]) {
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Kind");
    assert.equal(await page.locator("th", { hasText: "Kind" }).getAttribute("aria-sort"), order);
  }
  await close();
});

test("the skip link leads to the content of the same view", async () => {
  const { page, close } = await demo.openMap();
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  await polled(page, 1);
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  assert.ok(await page.locator(".map-body").isVisible());
  assert.ok(page.url().endsWith(mapOf(kLarge)));
  await close();
});

test("everything that can be used has a name", async () => {
  const { page, close } = await demo.open(demo.address);
  for (const [hash, view] of [["#/", "overview"], [mapOf(kLarge), "map"]]) {
    await page.goto(demo.address + hash);
    await drawn(page, view);
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("a, button, input, select, canvas[tabindex], summary, [tabindex='0'], [role]")]
        .filter((element) => element.offsetParent !== null)
        .filter((element) => {
          const label = element.getAttribute("aria-label") ?? "";
          const labels = [...(element.labels ?? [])].map((l) => l.textContent).join("");
          return (label + labels + element.textContent + (element.title ?? "")).trim() === "";
        }).map((element) => element.outerHTML.slice(0, 120)));
    assert.deepEqual(nameless.filter((html) => !/role="(status|tooltip)"/.test(html)), []);
    const tree = await page.locator("body").ariaSnapshot();
    for (const name of ["navigation", "main", "combobox"]) assert.match(tree, new RegExp(name));
  }
  assert.match(await page.locator("body").ariaSnapshot(), /application "Memory map of the run's best mapping"/);
  // The Tab key reaches the map.
  let reached = false;
  await page.locator(".skip").focus();
  for (let k = 0; k < 25 && !reached; ++k) {
    await page.keyboard.press("Tab");
    reached = await page.evaluate(() => document.activeElement.classList.contains("map-canvas"));
  }
  assert.ok(reached);
  await close();
});
