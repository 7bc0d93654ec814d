import { expect, test } from "bun:test";
import { join } from "node:path";
import { encodePeelId } from "../../../internal/base/names/peel-id.ts";
import type { ConsoleFleet } from "../../harness/console.ts";
import { until } from "../../harness/until.ts";

const rows = `[...document.querySelectorAll("tbody tr td:nth-child(2) a")].map((one) => one.innerText)`;

/** The page Peels. */
export function peelsCases(at: () => ConsoleFleet): void {
  test("peels: are searched by a target, whose errors are told with their column while it is typed", async () => {
    const { page, open, peels, inspect } = at();
    await open("/peels", "Peels");
    await page.until(`document.querySelectorAll("tbody tr td:nth-child(2) a").length === 2`);
    expect(await page.evaluate<string[]>(rows)).toEqual([...peels]);
    expect(await inspect("peels")).toEqual([]);
    await page.press("/");
    await page.type("#peels-target", "web-1.* and");
    const problem = await page.until<string>(`document.querySelector("#peels-target-problem").innerText`);
    expect(problem).toBe('column 12: expected a matcher after "and", found the end');
    await page.type("#peels-target", " not G@os:nothing");
    await page.until(`document.querySelectorAll("tbody tr td:nth-child(2) a").length === 1`);
    expect(await page.evaluate<string>("new URLSearchParams(location.search).get('target')")).toBe(
      "web-1.* and not G@os:nothing",
    );
  });

  test("peels: keys lead from the list to a peel and its views", async () => {
    const { page, open, peels, inspect } = at();
    await open("/peels", "Peels");
    await page.until(`document.querySelectorAll("tbody tr td:nth-child(2) a").length === 2`);
    await page.press("j");
    await page.press("j");
    await page.press("Enter");
    await page.until(`document.querySelector("h1").innerText === ${JSON.stringify(peels[1])}`);
    expect(await page.evaluate<string>("location.pathname")).toBe(`/console/peels/${peels[1]}`);
    await page.until(`document.querySelector("#peel-head") !== null`);
    expect(await inspect("peel")).toEqual([]);
    await page.click(`nav.tabs a[href$="/facts"]`);
    await page.type("#leaf-filter", "svc_version");
    await page.until(`document.querySelectorAll("tbody tr").length === 1`);
    expect(await page.evaluate<string>(`document.querySelector("tbody").innerText`)).toStartWith(
      "svc_version\t",
    );
  });

  test("peels: exactly those that are chosen are labelled, and get a job", async () => {
    const { page, open, peels, inspect } = at();
    await open("/peels", "Peels");
    await page.until(`document.querySelectorAll("tbody tr td:nth-child(2) a").length === 2`);
    await page.press("j");
    await page.press("x");
    const button = (text: string) =>
      `[...document.querySelectorAll(".page-head button")].find((one) => one.innerText === "${text}")`;
    await page.until(`${button("Revoke 1")} !== undefined`);
    await page.until(`[...document.querySelectorAll(".tools button")].at(-1)?.innerText === "Choose all 2"`);
    await page.evaluate(`[...document.querySelectorAll(".tools button")].at(-1).click()`);
    await page.until(`${button("Label 2")} && (${button("Label 2")}.click(), true)`);
    await page.type("#label-change", "chosen=yes");
    expect(await inspect("peels-label")).toEqual([]);
    await page.click("dialog .button.primary");
    await page.until(`document.querySelector("dialog") === null`);
    const labels = `[...document.querySelectorAll("tbody:not([aria-hidden]) tr")].map((one) => one.innerText.includes("chosen=yes"))`;
    await page.until(`${labels}.join() === "true,true"`);
    // Those that were dealt with are chosen no longer.
    await page.until(`${button("Label 2")} === undefined`);
    await page.evaluate(`[...document.querySelectorAll(".tools button")].at(-1).click()`);
    await page.until(`${button("Label 2")} && (${button("Label 2")}.click(), true)`);
    await page.type("#label-change", "chosen-");
    await page.click("dialog .button.primary");
    await page.until(`${labels}.join() === "false,false"`);
    await page.evaluate(`document.querySelector("tbody input[type=checkbox]").click()`);
    await page.until(`${button("Run a job on 1")} && (${button("Run a job on 1")}.click(), true)`);
    await page.until(`document.querySelector("#job-target")?.value === "L@${peels[0]}"`);
    await page.until(`document.querySelector("form .tags")?.innerText === "${peels[0]}"`);
  });

  test("peels: the jobs of a peel say what became of them there, and lead to its answer", async () => {
    const { bus, page, open, peels, rest, inspect } = at();
    // A directory is made once: on one of both hosts it fails.
    const command = `mkdir ${join(bus.dir, "made-once")}`;
    const requested = await rest("POST", "jobs", { targets: peels, function: "cmd.run", args: { command } });
    const { jid } = requested.json as { jid: string };
    const outcomes = await until(async () => {
      const job = (await rest("GET", `jobs/${jid}`)).json as {
        status: string;
        outcomes: Record<string, string>;
      };
      return job.status === "running" ? undefined : job.outcomes;
    });
    expect(Object.values(outcomes ?? {}).toSorted()).toEqual(["failed", "ok"]);
    const row = (id: string) =>
      `document.querySelector('tbody a[href$="/jobs/${jid}/${id}"]')?.closest("tr")`;
    for (const id of peels) {
      const outcome = outcomes?.[encodePeelId(id)] ?? "";
      await open(`/peels/${id}/jobs`, id);
      await page.until(`${row(id)}?.children[1].innerText.trim() === "${outcome}"`);
      expect(await page.evaluate<string>(`${row(id)}.innerText`)).toContain("failed");
    }
    expect(await inspect("peel-jobs")).toEqual([]);
    const [failing = ""] = peels.filter((id) => outcomes?.[encodePeelId(id)] === "failed");
    await open(`/jobs/${jid}`, "cmd.run");
    const first = `document.querySelector("tbody:not([aria-hidden]) tr")?.innerText`;
    await page.until(`${first}?.includes("exited with 1: mkdir: ")`);
    expect(await page.evaluate<string>(first)).toStartWith(failing);
    expect(await page.evaluate<string>("document.title")).toBe(`cmd.run ${jid} · svc`);
    await open(`/jobs/${jid}/${failing}`, failing);
    const text = await page.until<string>(
      `document.querySelector('[aria-label="Standard error"] pre')?.innerText`,
    );
    expect(text).toStartWith("mkdir: ");
    expect(await page.evaluate<string>(`document.querySelector("main").innerText`)).not.toContain('"stderr"');
  });

  test("peels: the timeline of a host has its enrollment, facts, states and jobs on one axis", async () => {
    const { page, open, peels, inspect, rest } = at();
    const { jid } = (await rest("POST", "jobs", { target: peels[0], function: "test.ping" })).json as {
      jid: string;
    };
    await until(async () => (await rest("GET", `jobs/${jid}`)).text.includes('"completed"'));
    await open(`/peels/${peels[0]}/timeline`, peels[0]);
    const said = (text: string) =>
      page.until(`document.querySelector("tbody:not([aria-hidden])")?.innerText.includes("${text}")`);
    await said("test.ping by ci");
    await said("it connected for the first time");
    await page.until(`document.querySelectorAll(".lanes .lane-mark").length >= 3`);
    expect(await page.evaluate<string>(`document.querySelector(".lanes").innerText`)).toStartWith(
      "Enrollment",
    );
    expect(await inspect("timeline")).toEqual([]);
  });
}
