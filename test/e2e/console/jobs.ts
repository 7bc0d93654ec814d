import { expect, test } from "bun:test";
import type { ConsoleFleet } from "../../harness/console.ts";
import { until } from "../../harness/until.ts";

const outcomes = `[...document.querySelectorAll("tbody tr td:nth-child(2)")].map((one) => one.innerText)`;
/** What a program could write to be more than text. */
const markup = '<img src=x onerror="document.title=1"><b>bold</b>';

/** The page Jobs. */
export function jobsCases(at: () => ConsoleFleet): void {
  test("jobs: a form from the documentation of a function, who is meant, and what they return", async () => {
    const { page, open, inspect, peels } = at();
    await open("/jobs", "Jobs");
    await page.until(`document.querySelector(".empty, tbody tr") !== null`);
    await page.press("n");
    await page.until(`document.querySelector("h1").innerText === "New job"`);
    await page.until(`document.querySelectorAll("#job-functions option").length > 20`);
    await page.type("#job-function", "cmd.run");
    await page.until(`document.querySelector("#arg-command") !== null`);
    expect(await page.evaluate<string>(`document.querySelector("#arg-command-doc").innerText`)).toContain(
      "/bin/sh",
    );
    await page.type("#job-target", "web-* and");
    expect(await page.until<string>(`document.querySelector("#job-target-problem").innerText`)).toBe(
      'column 10: expected a matcher after "and", found the end',
    );
    await page.type("#job-target", " not G@os:nothing");
    await page.until(`document.querySelector("form .tags")?.innerText.includes("${peels[1]}")`);
    await page.type("#arg-command", `case $(pwd) in /) printf '%s' '${markup}';; esac; exit 3`);
    expect(await inspect("new-job")).toEqual([]);
    await page.click("form .button.primary");
    await page.until(`document.querySelector("dialog h2")?.innerText === "Run cmd.run on 2 hosts?"`);
    await page.click("dialog .button.danger");
    await page.until(`document.querySelector("h1").innerText === "cmd.run"`);
    await page.until(`${outcomes}.join() === "failed,failed"`);
    await page.click("tbody tr td a");
    await page.until(`document.querySelector(".output pre, .notice.failed") !== null`);
    expect(await page.evaluate<string>(`document.querySelector("main").innerText`)).toContain("<b>bold</b>");
    expect(await page.evaluate<number>(`document.querySelectorAll("main img, main b").length`)).toBe(0);
    expect(await inspect("job-return")).toEqual([]);
  });

  test("jobs: again for those that failed, and cancelled while it runs", async () => {
    const { page, open, inspect, rest } = at();
    const [{ jid } = { jid: "" }] = await until(
      async () => (await rest("GET", "jobs?status=failed&function=cmd.run")).json as { jid: string }[],
      ({ length }) => length > 0,
    );
    await open(`/jobs/${jid}`, "cmd.run");
    await page.until(`${outcomes}.length === 2`);
    expect(await inspect("job")).toEqual([]);
    await page.click(".page-head .button.primary");
    await page.until(`document.querySelector("dialog h2")?.innerText === "Run cmd.run again on 2 hosts?"`);
    await page.click("dialog .button.primary");
    await page.until(
      `location.pathname.startsWith("/console/jobs/job-") && !location.pathname.endsWith("${jid}")`,
    );
    await page.until(`${outcomes}.join() === "failed,failed"`);

    const sleeping = { target: "web-*", function: "cmd.run", args: { command: "sleep 60" } };
    const started = (await rest("POST", "jobs", sleeping)).json as { jid: string };
    await open(`/jobs/${started.jid}`, "cmd.run");
    await page.click(".page-head .button.danger");
    await page.click("dialog .button.danger");
    await page.until(`${outcomes}.join() === "cancelled,cancelled"`);
    await open("/jobs", "Jobs");
    await page.until(`document.querySelectorAll("tbody tr").length >= 3`);
    expect(await inspect("jobs")).toEqual([]);
  });
}
