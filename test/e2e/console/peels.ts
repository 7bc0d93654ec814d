import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";

const rows = `[...document.querySelectorAll("tbody tr td:first-child a")].map((one) => one.innerText)`;

/** The page Peels. */
export function peelsCases(at: () => ConsoleFleet): void {
  test("peels: are searched by a target, whose errors are told with their column while it is typed", async () => {
    const { page, open, peels, inspect } = at();
    await open("/peels", "Peels");
    await page.until(`document.querySelectorAll("tbody tr td:first-child a").length === 2`);
    expect(await page.evaluate<string[]>(rows)).toEqual([...peels]);
    expect(await inspect("peels")).toEqual([]);
    await page.press("/");
    await page.type("#peels-target", "web-1.* and");
    const problem = await page.until<string>(`document.querySelector("#peels-target-problem").innerText`);
    expect(problem).toBe('column 12: expected a matcher after "and", found the end');
    await page.type("#peels-target", " not G@os:nothing");
    await page.until(`document.querySelectorAll("tbody tr td:first-child a").length === 1`);
    expect(await page.evaluate<string>("new URLSearchParams(location.search).get('target')")).toBe(
      "web-1.* and not G@os:nothing",
    );
  });

  test("peels: keys lead from the list to a peel and its views", async () => {
    const { page, open, peels, inspect } = at();
    await open("/peels", "Peels");
    await page.until(`document.querySelectorAll("tbody tr td:first-child a").length === 2`);
    await page.press("j");
    await page.press("j");
    await page.press("Enter");
    await page.until(`document.querySelector("h1").innerText === ${JSON.stringify(peels[1])}`);
    expect(await page.evaluate<string>("location.pathname")).toBe(`/console/peels/${peels[1]}`);
    await page.until(`document.querySelector("#peel-head") !== null`);
    expect(await inspect("peel")).toEqual([]);
    await page.click(`nav.tabs a[href$="/facts"]`);
    await page.type("#leaf-filter", "svc_version");
    await page.until(`document.querySelectorAll("tbody tr").length === 1`);
    expect(await page.evaluate<string>(`document.querySelector("tbody").innerText`)).toStartWith(
      "svc_version\t",
    );
  });
}
