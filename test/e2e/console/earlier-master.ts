import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";
import { startPeelBinary } from "../../harness/fleet.ts";

const peel = "late-1.example.com";
/** As masters answered that did not know `ids` of a list, nor `roles/can`. */
const likeAnEarlierMaster = `(() => {
  const { fetch } = window;
  window.refused = [];
  window.fetch = (path, init) => {
    const [status, error] = path.includes("/roles/can")
      ? [404, "not found"]
      : /\\/enrollments\\?.*\\bids=/.test(path) ? [400, "ids: is not known"] : [];
    if (status === undefined) return fetch(path, init);
    window.refused.push(status);
    return Promise.resolve(Response.json({ error }, { status }));
  };
  // Also what is shown for a moment.
  window.told = [];
  new MutationObserver(() => {
    for (const { innerText } of document.querySelectorAll("[role=alert]")) if (innerText) window.told.push(innerText);
  }).observe(document, { subtree: true, childList: true, characterData: true });
})()`;

/** While a fleet is upgraded, a page of a new master asks an earlier one. */
export function earlierMasterCases(at: () => ConsoleFleet): void {
  test("an earlier master: the list follows, and a dialog decides without knowing what comes", async () => {
    const { bus, master, page, open, choose, rest } = at();
    await open("/enrollments", "Enrollments");
    await page.until(`document.querySelector(".empty h2")?.innerText === "No host waits"`);
    await page.evaluate(likeAnEarlierMaster);
    await using _ = startPeelBinary(bus, master.url, peel);
    await page.until(`document.querySelector('[aria-label="Choose ${peel}"]') !== null`);
    expect(await page.evaluate<number[]>("window.refused")).toContain(400);
    await page.click(`[aria-label="Choose ${peel}"]`);
    await choose("Reject", ".page-head");
    await page.until(
      `document.querySelector("dialog").innerText.includes("This master cannot say whether others must agree first.")`,
    );
    expect(await page.evaluate<number[]>("window.refused")).toContain(404);
    await choose("Reject", "dialog");
    await page.until(`document.querySelector(".says").innerText === "1 rejected"`);
    await page.until(`document.querySelector(".empty h2")?.innerText === "No host waits"`);
    expect((await rest("GET", "enrollments")).json).toEqual([]);

    await page.evaluate(`document.querySelector('nav a[href$="/jobs"]').click()`);
    await page.until(`document.querySelector("h1")?.innerText === "Jobs"`);
    await page.press("n");
    await page.until(`document.querySelector("#job-function") !== null`);
    await page.type("#job-function", "cmd.run");
    await page.until(`document.querySelector("#arg-command") !== null`);
    await page.type("#arg-command", "true");
    await page.type("#job-target", "web-1*");
    await choose("Run on 1 peel");
    await page.until(
      `document.querySelector("dialog")?.innerText.includes("It runs on those that web-1* means")`,
    );
    expect(await page.evaluate<string[]>("window.told")).toEqual([]);
    await choose("Cancel", "dialog");
  });
}
