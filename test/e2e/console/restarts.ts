import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "../../harness/browser.ts";
import { enrollNew, newEnrollee } from "../../harness/enrollee.ts";
import { runRecord } from "../../harness/run-record.ts";
import { until } from "../../harness/until.ts";
import type { Company } from "./company.ts";

const outcome = `document.querySelector("tbody tr td:nth-child(2)")?.innerText`;

/** The master goes away under pages that are open, and comes back. */
export function restartCases(at: () => Company): void {
  test("restart: every live page keeps what it shows, says since when it is old, and goes on by itself", async () => {
    const { fleet } = at();
    const { bus, master, peels, rest, stopMaster, startMaster } = fleet;
    const flag = join(bus.dir, "go-on");
    const wait = `while [ ! -e ${flag} ]; do sleep 0.1; done`;
    const request = { targets: [peels[0]], function: "cmd.run", args: { command: wait }, timeout: "5m" };
    const { jid } = (await rest("POST", "jobs", request)).json as { jid: string };
    await rest("POST", "rollouts", { target: peels[1], function: "test.ping" });
    const before = await enrollNew({ url: master.url, ca: bus.caPem }, newEnrollee("before-it"));

    const { token } = (await rest("POST", "tokens", { name: "keeper", roles: ["admin"], expires: "1h" }))
      .json as {
      token: string;
    };
    runRecord.register("token", token);
    /** What each page shows before, and what it shows of what happens after. */
    const live: [place: string, before: string, after: string][] = [
      ["/overview", "Peels alive", "Latest jobs"],
      ["/peels", peels[1], peels[1]],
      ["/enrollments", "before-it", "after-it"],
      ["/jobs", "cmd.run", "event.send"],
      [`/jobs/${jid}`, "running", "completed"],
      ["/rollouts", "test.ping", "test.echo"],
      ["/events?tag=restart/**&since=10m", "Events", "restart/over"],
    ];
    // Each in a browser of its own, which has connections of its own.
    const tabs = await Promise.all(
      live.map(async ([place, text]) => {
        const { page, signIn } = await fleet.another();
        await signIn(token);
        await page.open(`${master.url}/console${place}`);
        await page.until(`document.querySelector("main")?.innerText.includes(${JSON.stringify(text)})`);
        return page;
      }),
    );
    const each = (run: (tab: Page, row: (typeof live)[number]) => Promise<void>) =>
      Promise.all(tabs.map((tab, index) => run(tab, live[index] as (typeof live)[number])));
    await stopMaster();
    // The page of events has a stream of its own, and says it beside its heading.
    const since = `document.body.innerText.match(/Not live since (\\d\\d:\\d\\d:\\d\\d)/)`;
    await each(async (tab, [place, text]) => {
      await tab.until(`${since} !== null`);
      const shown = await tab.evaluate<string>(`document.querySelector("main").innerText`);
      expect([place, shown]).toEqual([place, expect.stringContaining(text)]);
    });
    await startMaster();
    await each(async (tab) => void (await tab.until(`${since} === null`)));
    // Nobody touches the pages: they show what happens from now on.
    expect(existsSync(flag)).toBe(false);
    writeFileSync(flag, "");
    const after = await enrollNew({ url: master.url, ca: bus.caPem }, newEnrollee("after-it"));
    await rest("POST", "jobs", {
      targets: [peels[1]],
      function: "event.send",
      args: { tag: "restart/over" },
    });
    await rest("POST", "rollouts", { target: peels[1], function: "test.echo", args: { text: "x" } });
    await each(async (tab, [, , text]) => {
      await tab.until(`document.querySelector("main")?.innerText.includes(${JSON.stringify(text)})`);
      await tab.until(`document.querySelector("main .notice.failed") === null`);
      expect(await tab.evaluate<boolean>(`document.querySelector("dialog") === null`)).toBe(true);
    });
    const [, , , , job] = tabs;
    expect(await job?.until<string>(outcome)).toBe("ok");
    for (const id of [before, after]) await rest("POST", `enrollments/${id}/reject`, {});
    for (const page of tabs) await page[Symbol.asyncDispose]();
  }, 120_000);

  test("windows: as many as one has open follow the fleet through one stream, also when the one with the stream closes", async () => {
    const { fleet, visit } = at();
    const { master, peels, rest } = fleet;
    const { page } = await visit("watcher", "operator");
    /** Counts the streams that a window opens. */
    const counting = `globalThis.streams = 0;
      globalThis.EventSource = class extends EventSource {
        constructor(...given) {
          super(...given);
          streams++;
        }
      };`;
    // A browser has six connections to a server: with a stream in each window, the seventh would not load.
    const windows = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const window = await page.tab();
        await window.command("Page.addScriptToEvaluateOnNewDocument", { source: counting });
        await window.open(`${master.url}/console/jobs`);
        await window.until(`document.querySelector("main tbody tr") !== null`);
        return window;
      }),
    );
    const streams = async () => {
      const counts = await Promise.all(windows.map((window) => window.evaluate<number>("streams")));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    const run = async (text: string) => {
      const { status } = await rest("POST", "jobs", { targets: [peels[1]], function: text });
      expect(status).toBe(202);
      await Promise.all(
        windows.map((window) => window.until(`document.querySelector("main").innerText.includes("${text}")`)),
      );
    };
    for (const window of windows) await window.until(`document.body.innerText.includes("Live")`);
    await run("sys.list_functions");
    // The first page of this person had the stream.
    expect(await streams()).toBe(0);
    await page[Symbol.asyncDispose]();
    await until(async () => (await streams()) === 1);
    await run("test.version");
    expect(await streams()).toBe(1);
    for (const window of windows) await window[Symbol.asyncDispose]();
  });

  test("tabs: those that nobody sees leave the connections of the browser to the one that is seen", async () => {
    const { fleet, visit } = at();
    const { master, peels, rest } = fleet;
    const { page } = await visit("collector", "operator");
    const tabs = [page];
    // A browser has six connections to a server.
    for (let count = 0; count < 8; count++) {
      const tab = await page.tab();
      await tab.open(`${master.url}/console/events?tag=tabs/**&since=10m`);
      await tab.until(`document.querySelector("main .empty, main .table") !== null`);
      await tabs.at(-1)?.hide(true);
      tabs.push(tab);
    }
    await rest("POST", "jobs", { targets: [peels[1]], function: "event.send", args: { tag: "tabs/seen" } });
    const isReported = `document.querySelector("main").innerText.includes("tabs/seen")`;
    await tabs.at(-1)?.until(isReported);
    expect(await tabs[3]?.evaluate<boolean>(isReported)).toBe(false);
    await tabs[3]?.hide(false);
    await tabs[3]?.until(isReported);
    for (const tab of tabs) await tab[Symbol.asyncDispose]();
  });
}
