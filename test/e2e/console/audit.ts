import { expect, test } from "bun:test";
import { connectTo } from "../../harness/bus.ts";
import type { ConsoleFleet } from "../../harness/console.ts";
import { until } from "../../harness/until.ts";

/** The page Audit. */
export function auditCases(at: () => ConsoleFleet): void {
  test("audit: is searched by its address, and leads to one entry with its signature", async () => {
    const { page, open, inspect } = at();
    await open("/audit", "Audit");
    await page.until(`document.querySelectorAll("tbody tr td:first-child a").length >= 2`);
    expect(await inspect("audit")).toEqual([]);
    await page.press("/");
    expect(await page.evaluate<string>("document.activeElement.id")).toBe("audit-by");
    await page.type("#audit-action", "enrollments.approve");
    await page.press("Enter");
    await page.until(`new URLSearchParams(location.search).get("action") === "enrollments.approve"`);
    await page.until(
      `[...document.querySelectorAll("tbody tr td:nth-child(4)")].every((one) => one.innerText === "enrollments.approve")`,
    );
    const chain = `document.querySelector("[aria-label=Chain] [role=status]")?.innerText`;
    await page.until(`/^chain whole\\s+\\d+ entries: masters of this fleet signed each/.test(${chain})`);
    const requested = page.requests.length;
    await page.click("[aria-label=Chain] button");
    await until(() => page.requests.slice(requested).some((url) => url.includes("/api/v1/audit/chain")));
    await page.until(`${chain}.startsWith("chain whole")`);
    await page.click("tbody tr td:first-child a");
    await page.until(`document.querySelector("#signature-head") !== null`);
    expect(await page.evaluate<string>("location.pathname")).toMatch(/^\/console\/audit\/\d+$/);
    await open("/audit?by=nobody");
    expect(await page.until<string>(`document.querySelector(".empty")?.innerText`)).toContain(
      "svc audit list --since 24h",
    );
  });
}

/** What the page says of an audit that somebody else wrote into: it stays so for the rest of the fleet. */
export function brokenChainCases(at: () => ConsoleFleet): void {
  test("audit: where the chain breaks is told with the entry and what is wrong there", async () => {
    const { bus, page, open, inspect } = at();
    const owner = await connectTo(bus, "master");
    const { seq } = await owner.nats.jetstream().publish("svc.audit.jobs.create", Buffer.from("no entry"));
    await owner.drain();
    await open("/audit", "Audit");
    const chain = `document.querySelector("[aria-label=Chain]")?.innerText`;
    await page.until(`${chain}.includes("broken")`);
    expect(await page.evaluate<string>(chain)).toMatch(
      new RegExp(`Entry ${seq}\\s+it is not an entry that a master wrote`),
    );
    expect(await inspect("audit-broken")).toEqual([]);
    await page.evaluate(`document.querySelector('[aria-label=Chain] dt a').click()`);
    await page.until(`document.querySelector("h1, h2")?.innerText.includes("${seq}")`);
  });
}
