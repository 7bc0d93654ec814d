import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";

/** What happens to a page whose session, or whose master, goes away. */
export function sessionCases(at: () => ConsoleFleet): void {
  test("session: a page whose master restarts tells since when it is old, and comes back by itself", async () => {
    const { page, open, peels, stopMaster, startMaster } = at();
    await open("/peels", "Peels");
    await page.until(`document.querySelectorAll("tbody tr td:nth-child(2) a").length === 2`);
    await page.type("#peels-target", "web-1.*");
    await page.until(`document.querySelectorAll("tbody tr td:nth-child(2) a").length === 1`);
    await stopMaster();
    const reported = await page.until<string>(`document.querySelector(".old strong")?.innerText`);
    expect(reported).toMatch(/^Not live since \d\d:\d\d:\d\d$/);
    expect(await page.evaluate<string>(`document.querySelector("tbody a").innerText`)).toBe(peels[0]);
    await startMaster();
    await page.until(`document.querySelector(".old") === null`);
    // The page is the same one, and reads again.
    expect(await page.evaluate<string>(`document.querySelector("#peels-target").value`)).toBe("web-1.*");
    await page.until(`document.querySelector(".notice.failed") === null`);
  });

  test("session: what was typed stays when it ends, and continues after signing in again", async () => {
    const { page, master, open, peels } = at();
    await open(`/peels/${peels[0]}`, peels[0]);
    await page.click(".page-head .button.danger");
    await page.type("#revoke-reason", "sold to a museum");
    // Signed out elsewhere.
    await page.command("Network.clearBrowserCookies");
    await page.click("dialog .button.danger");
    await page.until(`document.querySelector("dialog[aria-label='Your session has ended']") !== null`);
    expect(await page.evaluate<string>(`document.querySelector("#revoke-reason").value`)).toBe(
      "sold to a museum",
    );
    expect(await at().barriers()).toEqual([]);
    await page.type("#token", "wrong-token-0123456789");
    await page.press("Enter");
    await page.until(`document.querySelector("#token-problem").innerText !== ""`);
    await page.evaluate(`document.querySelector("#token").select()`);
    await page.type("#token", master.token);
    await page.press("Enter");
    // The request that met the end is sent again.
    await page.until(`document.querySelector("dialog") === null`);
    expect(await page.until<string>(`document.querySelector(".says").innerText`)).toBe(
      `${peels[0]} is revoked`,
    );
    const { text } = await at().rest("GET", "audit?action=enrollments.revoke");
    expect(text).toContain('"via":"console"');
  });
}
