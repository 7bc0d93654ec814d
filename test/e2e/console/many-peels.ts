import { expect, test } from "bun:test";
import { encode } from "../../../internal/base/msgpack.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { append } from "../../../internal/bus/streams/mod.ts";
import { eventSubject } from "../../../internal/bus/subjects/subjects.ts";
import { masterSource } from "../../../internal/fleet/reactor/events/mod.ts";
import { encodeServiceEvent } from "../../../internal/wire/peel-event.ts";
import { connectTo } from "../../harness/bus.ts";
import type { ConsoleFleet } from "../../harness/console.ts";
import { storePeels } from "../../harness/stored-peels.ts";
import { until } from "../../harness/until.ts";

const count = 10_000;
/** What a host would like to be on a page. */
const markup = '<img src=x onerror="document.title=1"><b>bold</b>';

/** A fleet of 10,000, one of whose hosts is hostile. */
export function manyPeelsCases(at: () => ConsoleFleet): void {
  test("10,000 peels: few are elements, and text of a host is text", async () => {
    const { bus, page, open, rest } = at();
    const names = Array.from({ length: count }, (_, at) => `n${String(at).padStart(5, "0")}`);
    const hostile = { facts: { os: markup, svc_version: markup, owner: markup } };
    await storePeels(bus, Object.fromEntries(names.map((name, at) => [name, at === 0 ? hostile : {}])));
    // The last one that was stored.
    const isKnown = async () => ((await rest("GET", "peels?target=n09999")).json as unknown[]).length === 1;
    await until(isKnown, Boolean, 150_000);
    // From here on nothing is read again by the clock: what is read, an event asked for.
    const still = { source: "window.setInterval = () => 0" };
    const { identifier } = await page.command<{ identifier: string }>(
      "Page.addScriptToEvaluateOnNewDocument",
      still,
    );
    await open("/peels?target=n*", "Peels");
    await page.until(`document.querySelector("table")?.getAttribute("aria-rowcount") === "${count + 1}"`);
    expect(
      await page.evaluate<string>(`document.querySelector("tbody:not([aria-hidden])").innerText`),
    ).toContain("<b>bold</b>");
    expect(await page.evaluate<number>(`document.querySelectorAll("table img, table b").length`)).toBe(0);
    const { rows, last } = await page.evaluate<{ rows: number; last: string }>(`
      new Promise((resolve) => {
        const box = document.querySelector(".table");
        let frames = 0;
        let rows = 0;
        const step = () => {
          rows = Math.max(rows, document.querySelectorAll("tbody tr").length);
          if (frames++ < 60) {
            // First as a wheel scrolls, then as if the bar is dragged to the end.
            box.scrollTop += frames < 30 ? 120 : box.scrollHeight / 25;
            requestAnimationFrame(step);
          } else resolve({ rows, last: [...document.querySelectorAll("tbody tr a")].at(-1).innerText });
        };
        requestAnimationFrame(step);
      })`);
    expect(last).toBe("n09999");
    // A screen of them, a few more around it, and what stands for the others.
    expect(rows).toBeLessThan(50);
    const first = `document.querySelector("tbody:not([aria-hidden]) tr a")?.innerText`;
    const box = `document.querySelector(".table")`;
    // A key that is pressed while the table still scrolls is lost.
    const scrolled = async (scroll: () => Promise<unknown>) => {
      await page.evaluate(
        `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`,
      );
      await page.evaluate(`{
        globalThis.still = new Promise((resolve) => ${box}.addEventListener("scrollend", resolve, { once: true }));
        null
      }`);
      await scroll();
      await page.evaluate("still.then(() => null)");
    };
    const toTop = () => page.evaluate(`${box}.scrollTo(0, 0)`);
    await scrolled(toTop);
    await page.until(`${first} === "n00000"`);
    await page.evaluate(`${box}.focus()`);
    await scrolled(() => page.press("PageDown"));
    await page.until(`${first} > "n00000"`);
    await scrolled(() => page.press("End"));
    await page.until(`[...document.querySelectorAll("tbody tr a")].at(-1).innerText === "n09999"`);

    // Something changed on one peel: one is read, and one row is drawn.
    await scrolled(toTop);
    await page.until(`${first} === "n00000"`);
    await page.evaluate(`
      globalThis.drawn = new Set();
      new MutationObserver((changes) => {
        for (const { target } of changes) {
          const row = (target.nodeType === 1 ? target : target.parentElement)?.closest("time, tr, tbody");
          // Times pass by themselves.
          if (row !== null && row.tagName !== "TIME") drawn.add(row.querySelector("a")?.innerText);
        }
      }).observe(${box}, { subtree: true, childList: true, attributes: true, characterData: true })`);
    const requested = page.requests.length;
    const stored = await connectTo(bus, "master");
    await (await openBucket(stored, "facts")).put("n00005", encode({ os: "Changed", osrelease: "9" }));
    await until(async () => (await rest("GET", "peels?target=n00005")).text.includes("Changed"));
    const lost = encodeServiceEvent({ data: { peel: "n00005" }, source: "n00005", depth: 0 });
    await append(stored, eventSubject(masterSource, "svc.peel.n00005.lost"), lost, {});
    await stored.drain();
    await page.until(`document.querySelector("table").innerText.includes("Changed 9")`);
    expect(await page.evaluate<string[]>("[...drawn]")).toEqual(["n00005"]);
    const reads = page.requests.slice(requested).filter((url) => url.includes("/api/v1/peels?"));
    expect(reads).toEqual([expect.stringContaining("L%40n00005")]);
    await page.command("Page.removeScriptToEvaluateOnNewDocument", { identifier });

    await open("/peels/n00000", "n00000");
    await page.click('nav.tabs a[href$="/facts"]');
    await page.until(`document.querySelector("tbody:not([aria-hidden])")?.innerText.includes("<b>bold</b>")`);
    expect(await page.evaluate<string>("document.title")).toBe("n00000 · svc");
  }, 180_000);
}
