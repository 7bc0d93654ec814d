import { expect, test } from "bun:test";
import { enrollNew, newEnrollee } from "../../harness/enrollee.ts";
import type { Visitor } from "../../harness/visitor.ts";
import { type Company, silent } from "./company.ts";

const count = silent.length;
const submit = `document.querySelector("dialog button[type=submit]")`;
const says = `document.querySelector(".says").innerText`;
const status = `document.querySelector(".page-head .status")?.innerText`;

/** What happens to more than 10 hosts, whose number is typed first. */
export function countCases(at: () => Company): void {
  /** Answers the dialog with keys alone: a wrong number does nothing, the right one acts. */
  const typeCount = async ({ page }: Visitor, title: string, requested = count) => {
    await page.until(`document.querySelector("dialog h2")?.innerText === ${JSON.stringify(title)}`);
    // The reason stands before it.
    await page.until(`document.querySelector("dialog").contains(document.activeElement)`);
    if (await page.evaluate<boolean>(`document.activeElement.id !== "confirm-count"`))
      await page.press("Tab");
    await page.until(`document.activeElement?.id === "confirm-count"`);
    expect(await page.evaluate<string>(`document.querySelector("label[for=confirm-count]").innerText`)).toBe(
      `Type ${requested} to confirm that it concerns ${requested} hosts`,
    );
    expect(await page.evaluate<boolean>(`${submit}.disabled`)).toBe(true);
    for (const wrong of ["1", String(requested + 1), "all"]) {
      await page.evaluate(`document.activeElement.select()`);
      await page.command("Input.insertText", { text: wrong });
      await page.until(`document.activeElement.value === "${wrong}"`);
      await page.press("Enter");
      expect(await page.evaluate<boolean>(`${submit}.disabled`)).toBe(true);
    }
    await page.evaluate(`document.activeElement.select()`);
    await page.command("Input.insertText", { text: String(requested) });
    await page.until(`!${submit}.disabled`);
    await page.press("Enter");
    await page.until(`document.querySelector("dialog") === null`);
  };
  /** Chooses the first rows with keys. */
  const chooseRows = async ({ page }: Visitor) => {
    for (let row = 1; row <= count; row++) {
      await page.press("j");
      await page.until(
        `document.activeElement?.closest("tr")?.getAttribute("aria-rowindex") === "${row + 1}"`,
      );
      await page.press("x");
      await page.until(`document.querySelectorAll("tbody input:checked").length === ${row}`);
    }
  };

  test("counts: 12 hosts are chosen, approved and revoked with keys, after their number", async () => {
    const { fleet, visit } = at();
    const door = { url: fleet.master.url, ca: fleet.bus.caPem };
    const names = Array.from({ length: count }, (_, row) => `batch-${String(row + 1).padStart(2, "0")}`);
    await Promise.all(names.map((name) => enrollNew(door, newEnrollee(name))));
    const boss = await visit("boss", "approver");
    await boss.open("/enrollments", "Enrollments");
    await boss.page.until(`document.querySelectorAll("tbody tr td a").length >= ${count}`);
    await boss.page.click("thead .sorter");
    await boss.page.until(`document.querySelector("tbody tr td a").innerText === "batch-01"`);
    await chooseRows(boss);
    await boss.page.press("a");
    await typeCount(boss, `Approve ${count} hosts?`);
    await boss.page.until(`${says} === "${count} approved"`);
    const statesOf = async () => {
      const { json } = await fleet.rest("GET", "enrollments?state=all&limit=1000");
      const all = json as { peel: string; state: string }[];
      return [...new Set(all.filter(({ peel }) => names.includes(peel)).map(({ state }) => state))];
    };
    expect(await statesOf()).toEqual(["approved"]);

    await boss.open("/enrollments?state=all", "Enrollments");
    await boss.page.until(`document.querySelectorAll("tbody tr td a").length >= ${count}`);
    await boss.page.click("thead .sorter");
    await boss.page.until(`document.querySelector("tbody tr td a").innerText === "batch-01"`);
    await chooseRows(boss);
    await boss.page.press("v");
    await typeCount(boss, `Revoke ${count} hosts?`);
    await boss.page.until(`${says} === "${count} revoked"`);
    expect(await statesOf()).toEqual(["revoked"]);
    await boss.page[Symbol.asyncDispose]();
  });

  test("counts: a job is run on 12 hosts and cancelled, and a rollout on them aborted, after their number", async () => {
    const { fleet, visit } = at();
    const boss = await visit("boss-of-jobs", "operator");
    const { page, open, choose } = boss;
    await open("/jobs/new?function=cmd.run&target=silent-*", "New job");
    await page.type("#arg-command", "true");
    await choose(`Run on ${count} peels`);
    await typeCount(boss, `Run cmd.run on ${count} hosts?`);
    await page.until(`document.querySelector("h1")?.innerText === "cmd.run"`);
    await choose("Cancel the job", ".page-head");
    await typeCount(boss, `Cancel cmd.run on ${count} hosts?`);
    await page.until(`${status} === "cancelled"`);

    const request = { target: "silent-*", function: "test.ping", canary: 1, waves: 2, timeout: "10m" };
    const started = await fleet.rest("POST", "rollouts", request);
    const { id } = started.json as { id: string };
    expect([JSON.stringify(started.json), id?.startsWith("rol-")]).toEqual([expect.any(String), true]);
    await open(`/rollouts/${id}`, "test.ping");
    // What is taken back by a click waits for no number.
    await choose("Pause", ".page-head");
    await page.until(`document.querySelector("dialog h2")?.innerText === "Pause the rollout of test.ping?"`);
    expect(await page.evaluate<boolean>(`document.querySelector("#confirm-count") === null`)).toBe(true);
    await page.press("Escape");
    await page.until(`document.querySelector("dialog") === null`);
    await choose("Abort", ".page-head");
    await typeCount(boss, "Abort the rollout of test.ping?");
    await page.until(`${status} === "aborted"`);
    await page[Symbol.asyncDispose]();
  });
}
