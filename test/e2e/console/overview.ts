import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";
import { until } from "../../harness/until.ts";

/** The page Overview. */
export function overviewCases(at: () => ConsoleFleet): void {
  test("overview: counts the fleet, and each number leads to what it counts", async () => {
    const { page, open, inspect } = at();
    await open("/overview", "Overview");
    await page.until(
      `[...document.querySelectorAll("a.figure")].some((one) => one.innerText === "Peels alive\\n2")`,
    );
    // The one master does everything that one of them does alone, as soon as it has the leases.
    const row = `document.querySelector("section[aria-labelledby=masters-head] tbody tr").innerText`;
    for (const text of [
      "(answers)",
      "ready",
      "publishes state files",
      "compiles settings",
      "runs the reactor",
    ])
      await page.until(`${row}.includes("${text}")`);
    expect(await inspect("overview")).toEqual([]);
    await page.click('a.figure[href="/console/peels?show=alive"]');
    await page.until(`document.querySelector("h1").innerText === "Peels"`);
    expect(await page.evaluate<string>("location.search")).toBe("?show=alive");
  });

  test("overview: curves of a day and of a month, each also in numbers", async () => {
    const { page, open, inspect, rest } = at();
    // Masters take the first one as soon as one of them has the lease.
    await until(async () => ((await rest("GET", "samples")).json as { at?: string[] }).at?.length);
    await open("/overview", "Overview");
    const titles = `[...document.querySelectorAll(".chart h3")].map((one) => one.innerText).join()`;
    await page.until(`${titles} === "Peels,Jobs that ended,Drift,Disk of the bus"`);
    const table = `document.querySelector(".chart details")`;
    await page.click(".chart details summary");
    expect(await page.evaluate<number>(`${table}.querySelectorAll("tbody tr").length`)).toBe(24);
    // The first sample may be older than the peels.
    expect(await page.evaluate<string>(`${table}.querySelector("tbody tr td").innerText`)).toMatch(/^[012]$/);
    expect(await inspect("curves")).toEqual([]);
    // The page scrolls, and not the window around it as well.
    const window = "document.documentElement";
    expect(await page.evaluate<boolean>(`${window}.scrollHeight <= ${window}.clientHeight`)).toBe(true);
    await page.evaluate(`document.querySelectorAll(".choice input[name=period]")[1].click()`);
    await page.until(`location.search === "?period=30d"`);
    await page.until(`${table}?.querySelectorAll("tbody tr").length === 30`);
  });

  test("overview: every host is a sign in the grid, which keys and the pointer lead through", async () => {
    const { page, open, peels, inspect } = at();
    await open("/overview", "Overview");
    const grid = `document.querySelector(".host-grid > a")`;
    const said = `document.querySelector(".host-grid [role=status]").innerText`;
    await page.until(`${grid}?.querySelector("path") != null`);
    await page.evaluate(`${grid}.focus()`);
    await page.press("End");
    await page.until(`${said}.startsWith(${JSON.stringify(peels[1])})`);
    await page.press("ArrowLeft");
    await page.until(`${said}.startsWith(${JSON.stringify(peels[0])})`);
    expect(await inspect("grid")).toEqual([]);
    await page.press("ArrowRight");
    await page.until(`${said}.startsWith(${JSON.stringify(peels[1])})`);
    await page.press("Enter");
    await page.until(`document.querySelector("h1").innerText === ${JSON.stringify(peels[1])}`);
  });
}
