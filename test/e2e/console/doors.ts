import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";
import { runRecord } from "../../harness/run-record.ts";

/** Who comes in by which door, what they are offered, and keys that work on every page. */
export function doorCases(at: () => ConsoleFleet): void {
  test("doors: a link signs in once, leaves no trace in the address, and a viewer is offered only what a viewer may", async () => {
    const { page, master, peels, open, rest, request, signIn, signOut } = at();
    const made = await rest("POST", "tokens", { name: "linker", roles: ["viewer"], expires: "1h" });
    const { token } = made.json as { token: string };
    runRecord.register("token", token);
    const { link } = (await request(token, "POST", "sessions/links", {})).json as { link: string };
    runRecord.register("token", link);
    await open(`/peels/${peels[0]}`, peels[0]);
    await page.until(`document.querySelector(".page-head .button.danger") !== null`);
    await signOut();

    // Only the fragment differs from the page that is open, as when a link opens in a tab of the console.
    await page.open("about:blank");
    await page.open(`${master.url}/console/peels/${peels[0]}#link=${link}`);
    await page.until(`document.querySelector("h1")?.innerText === ${JSON.stringify(peels[0])}`);
    expect(await page.evaluate<string>("location.hash")).toBe("");
    expect(page.requests.filter((url) => new URL(url, "x:/").search.includes(link))).toEqual([]);
    await page.until(`document.querySelector("#peel-head") !== null`);
    expect(await page.evaluate<number>(`document.querySelectorAll("main .button.danger").length`)).toBe(0);
    // Every page that navigation offers can be read, and every other one says why not.
    const offered = await page.evaluate<string[]>(
      `[...document.querySelectorAll("nav a")].map((one) => one.innerText.trim())`,
    );
    expect(offered).toContain("Peels");
    for (const name of ["Audit", "Operators"]) expect(offered).not.toContain(name);
    const tries = [
      ["POST", "jobs", { target: "*", function: "test.ping" }],
      ["POST", "tokens", { name: "more", roles: ["admin"] }],
      ["POST", "enrollments/enr-1/revoke", {}],
      ["POST", "enrollments/enr-1/approve", {}],
    ] as const;
    for (const [method, path, body] of tries) {
      const status = await page.evaluate<number>(`fetch("/api/v1/sessions/current")
        .then((answer) => answer.json())
        .then(({ csrf }) => fetch("/api/v1/${path}", {
          method: "${method}",
          headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
          body: ${JSON.stringify(JSON.stringify(body))},
        }))
        .then(({ status }) => status)`);
      expect([path, status]).toEqual([path, 403]);
    }

    await signOut();
    await page.open("about:blank");
    await page.open(`${master.url}/console/#link=${link}`);
    expect(await page.until<string>(`document.querySelector("[role=alert]")?.innerText`)).toContain("link");
    await signIn(master.token);
  });

  test("doors: keys lead everywhere, ? lists them, and Escape closes the list", async () => {
    const { page, open, inspect } = at();
    await open("/overview", "Overview");
    await page.press("?");
    await page.until(`document.querySelector("dialog[open] h2")?.innerText === "Keys"`);
    expect(await inspect("keys")).toEqual([]);
    // Keys of the page behind it do nothing.
    await page.press("g");
    await page.press("p");
    await page.press("Escape");
    await page.until(`document.querySelector("dialog") === null`);
    expect(await page.evaluate<string>("location.pathname")).toBe("/console/overview");
    await page.press("g");
    await page.press("p");
    await page.until(`document.querySelector("h1").innerText === "Peels"`);
    await page.until(`document.querySelectorAll("tbody tr td:nth-child(2) a").length === 2`);
    const focused = `document.activeElement?.closest("tr")?.getAttribute("aria-rowindex")`;
    for (const [key, row] of ["j2", "j3", "j3", "k2", "k2"].map((step) => [...step] as [string, string])) {
      await page.press(key);
      await page.until(`${focused} === "${row}"`);
    }
  });
}
