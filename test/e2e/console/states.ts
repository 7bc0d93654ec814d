import { expect, test } from "bun:test";
import { join } from "node:path";
import { writeFileAtomic } from "../../../internal/base/files/file.ts";
import type { ConsoleFleet } from "../../harness/console.ts";
import { until } from "../../harness/until.ts";

/** The page States. */
export function statesCases(at: () => ConsoleFleet): void {
  test("states: says what to do while no peel ran any", async () => {
    const { page, open } = at();
    await open("/states", "States");
    await page.until('document.querySelector(".empty")?.innerText.includes("state.apply test=true")');
  });

  test("states: a button leads to the state files in force, and to those that are refused", async () => {
    const { page, open, inspect } = at();
    await open("/states", "States");
    await page.until(`document.querySelector('a[href$="/states/files"]') !== null`);
    await page.evaluate(`document.querySelector('a[href$="/states/files"]').click()`);
    await page.until(`document.querySelector("h1")?.innerText === "State files"`);
    await page.until('document.querySelectorAll(".table tbody tr, table tbody tr").length > 0');
    expect(await page.evaluate<string>("document.querySelector('main').innerText")).toContain(
      "Nothing is refused",
    );
    expect(await inspect("state-files")).toEqual([]);
    await open("/states", "States");
  });

  test("states: counts the runs, names what fails most, and leads to the differences of one", async () => {
    const { page, open, peels, inspect, rest } = at();
    const [, peel] = peels;
    const run = { targets: [peel], function: "state.highstate" };
    // States do not run before the first settings have come.
    await until(async () => {
      const { jid } = (await rest("POST", "jobs", run)).json as { jid: string };
      const outcome = await until(async () => {
        const { status } = (await rest("GET", `jobs/${jid}`)).json as { status: string };
        return status === "running" || status === "pending" ? undefined : status;
      });
      const { counts } = (await rest("GET", "states/status")).json as { counts: { failed: number } };
      return outcome !== undefined && counts.failed === 1 ? true : undefined;
    });
    await page.until(`document.body.innerText.includes("test.configurable_test_state")`);
    expect(
      await page.evaluate<string>(
        `document.querySelector("section[aria-labelledby=failures-head]").innerText`,
      ),
    ).toContain("<b>not bold</b>");
    expect(await inspect("states")).toEqual([]);
    await page.evaluate(
      `document.querySelector('section[aria-labelledby="failures-head"] a[href$="/states"]').click()`,
    );
    await page.until(`document.body.innerText.includes("something pretended to change")`);
    expect(await page.evaluate<number>("document.querySelectorAll('main b').length")).toBe(0);
    expect(await inspect("peel-states")).toEqual([]);
    await open(`/peels/${peel}/settings`);
    await page.until(`document.body.innerText.includes("motd")`);
    expect(await page.evaluate<string>("document.body.innerText")).not.toContain("hunter2");
    expect(await inspect("peel-settings")).toEqual([]);
  });

  test("states: what they would change is a difference, line by line", async () => {
    const { bus, page, open, peels, rest, inspect } = at();
    const [peel] = peels;
    const name = join(bus.dir, "drifted.txt");
    // What only its owner may read is not shown.
    writeFileAtomic(name, "drift\n", 0o644);
    const args = { fun: "file.managed", name, args: { contents: "Hello\n" }, test: true };
    // States do not run before the first settings have come.
    const jid = await until(async () => {
      const run = { targets: [peel], function: "state.single", args };
      const { jid: started } = (await rest("POST", "jobs", run)).json as { jid: string };
      const { status } = await until(
        async () => (await rest("GET", `jobs/${started}`)).json as { status: string },
        (job) => job.status !== "running",
      );
      return status === "completed" ? started : undefined;
    });
    await open(`/jobs/${jid}/${peel}`, peel);
    await page.until(`document.querySelector(".diff .remove")?.innerText === "-drift"`);
    expect(await page.evaluate<string>(`document.querySelector(".diff .add").innerText`)).toBe("+Hello");
    const text = await page.evaluate<string>(`document.querySelector("main").innerText`);
    expect([text, text.includes("\\n"), text.includes('{"')]).toEqual([
      expect.stringContaining("1 would change"),
      false,
      false,
    ]);
    expect(await inspect("job-states")).toEqual([]);
  });
}
