import { expect, test } from "bun:test";
import type { ShownFleet } from "../../harness/shown-fleet/start.ts";

/** The same in all pages: signs, sums of peels, and answers that fit a phone. */
export function alikeCases(at: () => ShownFleet): void {
  const open = async (path: string, ready: string) => {
    const { page, ids, url } = at();
    await page.open(`${url}/console${path.replace(/\{([\w-]+)\}/, (_, of: string) => ids[of] ?? "")}`);
    await page.until(ready);
  };
  const statuses = (word: string) =>
    `[...document.querySelectorAll(".status")].filter((one) => one.innerText.trim() === ${JSON.stringify(word)}).map((one) => one.dataset.outcome)`;

  test("a silent peel has one sign", async () => {
    const { page } = at();
    for (const path of ["/overview", "/peels?show=silent", "/peels/mail-1.example.com"]) {
      await open(path, `${statuses("silent")}.length > 0`);
      expect([path, [...new Set(await page.evaluate<string[]>(statuses("silent")))]]).toEqual([
        path,
        ["offline"],
      ]);
    }
  });

  test("peels are summed up by what they have in common, and a sum leads to its peels", async () => {
    const { page } = at();
    const cells = `[...document.querySelectorAll("tbody:not([aria-hidden]) tr")].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))`;
    await open("/peels", `document.querySelector("#peels-by option[value='label:env']") !== null`);
    await page.evaluate(`(() => {
      const choice = document.querySelector("#peels-by");
      choice.value = "label:env";
      choice.dispatchEvent(new Event("change", { bubbles: true }));
    })()`);
    await page.until(
      `document.querySelector('[aria-label="Peels by label env"] tbody:not([aria-hidden]) tr') !== null`,
    );
    const sums = await page.evaluate<string[][]>(cells);
    expect(sums.map(([env, peels, silent]) => [env, peels, silent])).toEqual([
      ["prod", "18", "2"],
      ["staging", "2", "0"],
    ]);
    await page.evaluate(
      `[...document.querySelectorAll("tbody a")].find((one) => one.innerText === "staging").click()`,
    );
    await page.until(
      `document.querySelectorAll("tbody:not([aria-hidden]) tr").length === 2 && !location.search.includes("by=")`,
    );
    expect(await page.evaluate<string>("new URLSearchParams(location.search).get('target')")).toBe(
      "T@env:staging",
    );
    await open(
      "/peels?by=system&target=web-*",
      `document.querySelector('[aria-label="Peels by system"] tbody:not([aria-hidden]) a') !== null`,
    );
    await page.evaluate(`document.querySelector("tbody:not([aria-hidden]) a").click()`);
    await page.until(
      `document.querySelectorAll("tbody:not([aria-hidden]) tr").length === 6 && !location.search.includes("by=")`,
    );
    expect(await page.evaluate<string>("new URLSearchParams(location.search).get('target')")).toBe(
      "(web-*) and G@os:Debian and G@osrelease:12",
    );
  });

  test("on a phone all of the line of an answer is read", async () => {
    const { page } = at();
    await page.show({ width: 360, height: 740 });
    await open("/jobs/{job-mixed}", `document.querySelectorAll("tbody .answer").length >= 10`);
    const cut = `[...document.querySelectorAll("tbody .answer")].map((one) => one.parentElement)
      .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth)
      .map((one) => one.innerText)`;
    expect(await page.evaluate<string[]>(cut)).toEqual([]);
    await page.show({ width: 1280 });
  });
}
