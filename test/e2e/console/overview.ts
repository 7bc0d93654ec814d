import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";

/** The page Overview. */
export function overviewCases(at: () => ConsoleFleet): void {
  test("overview: counts the fleet, and each number leads to what it counts", async () => {
    const { page, open, inspect } = at();
    await open("/overview", "Overview");
    await page.until(
      `[...document.querySelectorAll("a.figure")].some((one) => one.innerText === "Alive\\n2")`,
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
}
