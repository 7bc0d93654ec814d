import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { writeFileAtomic } from "../../../internal/base/files/file.ts";
import { newId, systemRandom } from "../../../internal/base/id.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { encodeApproval } from "../../../internal/fleet/approvals/record.ts";
import { connectTo } from "../../harness/bus.ts";
import type { ConsoleFleet } from "../../harness/console.ts";
import { macOf } from "../../harness/vouchers.ts";

const markup = '<img src=x onerror="document.title=1"><b>bold</b>';

const gone = { environment: "base", commit: "local", snapshot: "ab".repeat(32) };

/** The page Approvals. */
export function approvalsCases(at: () => ConsoleFleet): void {
  test("approvals: an empty page names the command, and one decides what waits", async () => {
    const { bus, master, page, open, inspect, rest } = at();
    // A token of the configuration agrees only for a known person.
    writeFileAtomic(join(master.dir, "roles.yaml"), "persons: {ci: [token:ci]}\n", 0o600);
    await open("/approvals", "Approvals");
    expect(await page.until<string>(`document.querySelector(".empty")?.innerText`)).toContain(
      "svc roles show",
    );
    // It reads nothing again by the clock from here on: what comes is told by events.
    const still = { source: "window.setInterval = () => 0" };
    const { identifier } = await page.command<{ identifier: string }>(
      "Page.addScriptToEvaluateOnNewDocument",
      still,
    );
    await open("/approvals", "Approvals");
    await page.until(`document.querySelector(".empty") !== null`);
    const stored = await connectTo(bus, "master");
    const bucket = await openBucket(stored, "approvals");
    const now = systemClock.now();
    const ids = [0, 1, 2].map(() => newId("apr", now, systemRandom));
    for (const id of ids) {
      const record = {
        ...{ id, operation: "enrollments.revoke", needs: 1, rule: "role careful", agreed: [] },
        input: { id: "enr-1", reason: markup },
        asker: { name: "ann", person: "ann", door: "rest" as const, roles: ["careful"], at: now },
        ...{ state: "waiting" as const, expiresAt: now + 3_600_000 },
        // One that runs files, which nobody stores.
        ...(id === ids[0] ? { content: gone, targets: ["web-9"] } : {}),
      };
      await bucket.create(id, encodeApproval(macOf(bus), record));
    }
    await stored.drain();
    const [approved = "", denied = "", elsewhere = ""] = ids;
    await page.until(`document.querySelectorAll("tbody tr td:first-child a").length === 3`);
    expect(await inspect("approvals")).toEqual([]);

    const heading = "Revoke a host, asked by ann";
    const withFiles = "Revoke 1 host, asked by ann";
    await open(`/approvals/${elsewhere}`, heading);
    await rest("POST", `approvals/${elsewhere}/deny`);
    await page.until(`document.querySelector(".page-head .status").innerText === "denied"`);
    await page.command("Page.removeScriptToEvaluateOnNewDocument", { identifier });
    await open(`/approvals/${denied}`, heading);
    expect(await inspect("approval")).toEqual([]);
    // What was asked for is text.
    expect(await page.evaluate<string>(`document.querySelector("dl.request").innerText`)).toContain(
      "<b>bold",
    );
    expect(await page.evaluate<number>(`document.querySelectorAll("main img, main b").length`)).toBe(0);
    expect(
      await page.evaluate<string>(`document.querySelector("[aria-label=Signature]").innerText`),
    ).toContain(`svc approval approve ${denied}`);
    await page.click(".page-head .button.danger");
    await page.type("#deny-reason", markup);
    await page.click("dialog .button.danger");
    await page.until(`document.querySelector(".page-head .status").innerText === "denied"`);
    const facts = `document.querySelector("[aria-labelledby=approval-agreed] dl").innerText`;
    await page.until(`/Denied by\\s+ci\\s+Reason\\s+<img src=x .*<b>bold/.test(${facts})`);
    expect(await page.evaluate<number>(`document.querySelectorAll("main img, main b").length`)).toBe(0);
    expect((await rest("GET", `approvals/${denied}`)).json).toMatchObject({
      ...{ state: "denied", denied_by: "ci", reason: markup },
    });

    // Nobody knows ann any more: that is told where it was approved.
    await open(`/approvals/${approved}`, withFiles);
    const differ = (place: string) =>
      page.until(
        `/web-9: never ran\\s+Not compared: no longer stored/.test(document.querySelector(${JSON.stringify(place)})?.innerText)`,
      );
    await differ("[aria-labelledby=approval-files]");
    await page.click(".page-head .button.primary");
    // Before anyone agrees.
    await differ("dialog");
    await page.click("dialog .button.primary");
    await page.until(`document.querySelector(".page-head .status").innerText === "failed"`);
    expect((await rest("GET", `approvals/${approved}`)).json).toMatchObject({ agreed: ["ci"] });
  });
}
