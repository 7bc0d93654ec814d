import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";

/** The page Overview. */
export function overviewCases(at: () => ConsoleFleet): void {
  test("overview: counts the fleet, and each number leads to what it counts", async () => {
    const { page, open, inspect } = at();
    await open("/overview", "Overview");
    const alive = await page.until<string>(
      `[...document.querySelectorAll("a.figure")].find((one) => one.innerText.startsWith("Alive"))?.innerText`,
    );
    expect(alive).toBe("Alive\n2");
    // The one master does everything that one of them does alone.
    await page.until(`document.querySelector("#masters-head") !== null`);
    const row = await page.evaluate<string>(
      `document.querySelector("section[aria-labelledby=masters-head] tbody tr").innerText`,
    );
    expect(row).toContain("(answers)");
    expect(row).toContain("ready");
    for (const duty of ["publishes state files", "compiles settings", "runs the reactor"]) {
      expect(row).toContain(duty);
    }
    expect(await inspect("overview")).toEqual([]);
    await page.click('a.figure[href="/console/peels?show=alive"]');
    await page.until(`document.querySelector("h1").innerText === "Peels"`);
    expect(await page.evaluate<string>("location.search")).toBe("?show=alive");
  });
}
