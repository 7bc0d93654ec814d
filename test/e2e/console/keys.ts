import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";

const path = "location.pathname";
const focusedRow = `document.activeElement?.closest("tr")?.getAttribute("aria-rowindex")`;
const peelRows = `document.querySelectorAll("tbody tr td:nth-child(2) a").length`;
const options = `[...document.querySelectorAll(".palette [role=option]")].map((one) => one.innerText.replaceAll("\\n", " "))`;

/** Keys, as they work on every page. */
export function keysCases(at: () => ConsoleFleet): void {
  /** Ctrl and a letter. */
  const control = async (key: string) => {
    const { page } = at();
    const typed = { key, windowsVirtualKeyCode: key.toUpperCase().charCodeAt(0), modifiers: 2 };
    await page.command("Input.dispatchKeyEvent", { type: "rawKeyDown", ...typed });
    await page.command("Input.dispatchKeyEvent", { type: "keyUp", ...typed });
  };

  test("keys: g and a letter lead to every page of the navigation, and / to its search", async () => {
    const { page, open } = at();
    await open("/overview", "Overview");
    const links = await page.evaluate<[string, string][]>(
      `[...document.querySelectorAll("nav li a")].map((one) => [one.dataset.key, one.getAttribute("href")])`,
    );
    expect(links.length).toBe(12);
    expect(new Set(links.map(([key]) => key)).size).toBe(links.length);
    for (const [key, href] of links) {
      for (const one of key.split(" ")) await page.press(one);
      await page.until(`${path} === "${href}" && document.querySelector("main h1") !== null`);
    }
    for (const searched of ["/peels", "/jobs", "/states", "/events", "/audit"]) {
      await open(searched);
      await page.press("/");
      await page.until(`document.activeElement?.matches("main input")`);
      // What is typed there moves nothing.
      await page.press("g");
      await page.press("j");
      expect(await page.evaluate<string>(path)).toBe(`/console${searched}`);
    }
  });

  test("keys: the arrows move between rows as j and k do, and scroll elsewhere", async () => {
    const { page, open } = at();
    await open("/peels", "Peels");
    await page.until(`${peelRows} >= 2`);
    await page.press("ArrowDown");
    expect(await page.evaluate<string | undefined>(focusedRow)).toBeUndefined();
    await page.press("j");
    await page.until(`${focusedRow} === "2"`);
    await page.press("ArrowDown");
    await page.until(`${focusedRow} === "3"`);
    await page.press("ArrowUp");
    await page.until(`${focusedRow} === "2"`);
  });

  test("keys: x chooses the row, and v asks before it revokes", async () => {
    const { page, open, peels } = at();
    await open("/enrollments?state=active", "Enrollments");
    await page.until(`document.querySelectorAll("tbody input[type=checkbox]").length >= 2`);
    await page.click("thead .sorter");
    await page.press("j");
    await page.press("x");
    await page.until(`document.querySelectorAll("tbody tr[aria-selected=true]").length === 1`);
    await page.press("v");
    await page.until(`document.querySelector("dialog h2")?.innerText === "Revoke ${peels[0]}?"`);
    await page.press("Escape");
    await page.until(`document.querySelector("dialog") === null`);
    // The row has the focus again.
    await page.until(`${focusedRow} === "2"`);
    await page.press("x");
    await page.until(`document.querySelector("tbody tr[aria-selected=true]") === null`);
  });

  test("keys: Ctrl+K goes to a page, a peel or a job by its name, also from a field", async () => {
    const { page, open, peels, barriers } = at();
    await open("/jobs", "Jobs");
    await page.press("/");
    await control("k");
    await page.until(`document.activeElement?.matches(".palette input")`);
    await page.type(".palette input", "web-");
    // Peels and jobs are read apart, and each is offered as it comes. A busy peel can count as silent for a moment.
    for (const id of peels)
      await page.until(`${options}.some((one) => /^(?:alive|silent), /.test(one.split("Peel ${id} ")[1]))`);
    expect(await barriers()).toEqual([]);
    const chosen = `document.querySelector(".palette [aria-selected=true]")?.innerText`;
    await page.until(`${chosen}.includes("${peels[0]}")`);
    await page.press("ArrowDown");
    await page.until(`${chosen}.includes("${peels[1]}")`);
    await page.press("ArrowUp");
    await page.until(`${chosen}.includes("${peels[0]}")`);
    await page.press("Enter");
    await page.until(`${path} === "/console/peels/${peels[0]}" && document.querySelector("dialog") === null`);

    await page.click(".find");
    await page.type(".palette input", "no such name");
    await page.until(`document.querySelector(".palette [role=status]") !== null`);
    await page.press("Escape");
    await page.until(`document.querySelector("dialog") === null`);
    expect(await page.evaluate<string>(path)).toBe(`/console/peels/${peels[0]}`);
    await control("k");
    await page.type(".palette input", "audit");
    await page.press("Enter");
    await page.until(`${path} === "/console/audit"`);
  });
}
