import { expect, test } from "bun:test";
import type { Visitor } from "../../harness/visitor.ts";
import { type Company, silent } from "./company.ts";

const status = `document.querySelector(".page-head .status")?.innerText`;
const outcomes = `[...document.querySelectorAll("tbody tr td:nth-child(2)")].map((one) => one.innerText).join()`;

/** What happens only if a second operator agrees: `approvals: 1` in the role of both. */
export function twoPersonsCases(at: () => Company): void {
  /** Fills the form of a job, and resolves with the id of the request that waits. */
  const requestFrom = async ({ page, open, choose }: Visitor, text: string): Promise<string> => {
    await open(`/jobs/new?function=test.echo&target=${encodeURIComponent("web-*")}`, "New job");
    await page.type("#arg-text", text);
    await choose("Run on 2 peels");
    await page.until(`document.querySelector("dialog")?.innerText.includes(
      "It waits until another operator agrees, and then runs on those that web-* means")`);
    await choose("Run", "dialog");
    await page.until(`document.querySelector("h1")?.innerText === "Approvals"`);
    expect(await page.until<string>(`document.querySelector(".says")?.innerText`)).toMatch(
      /^The job waits until other operators agree: apr-\w{27}$/,
    );
    return (await page.evaluate<string>(`document.querySelector(".says").innerText`)).split(": ")[1] ?? "";
  };

  test("two persons: a job waits, who asked is not offered to agree, and it runs when another one does", async () => {
    const { fleet, hire, comeIn } = at();
    // An agreement counts for a person: each has a key of their own.
    const dora = await comeIn(await hire("dora", "careful"));
    const emil = await comeIn(await hire("emil", "careful"));
    const id = await requestFrom(dora, "<b>hello</b>");
    const heading = "Run test.echo on 2 hosts, asked by dora";
    await dora.open(`/approvals/${id}`, heading);
    expect(await dora.buttons(".page-head")).toEqual(["Withdraw"]);
    expect(await dora.page.evaluate<string>(`document.querySelector("p.notice").innerText`)).toBe(
      "You asked for it: other operators must agree.",
    );
    const forced = await dora.request("POST", `approvals/${id}/approve`, {});
    expect([forced.status, forced.text]).toEqual([403, expect.stringContaining("dora asked for this")]);

    await emil.open("/approvals", "Approvals");
    await emil.page.click("tbody tr td:first-child a");
    await emil.page.until(`document.querySelector("h1")?.innerText === "${heading}"`);
    // All of what he agrees to is there, as text.
    const request = await emil.page.until<string>(`document.querySelector("dl.request")?.innerText`);
    expect(request).toContain("<b>hello</b>");
    expect(await emil.page.evaluate<number>(`document.querySelectorAll("main b").length`)).toBe(0);
    expect(await emil.buttons(".page-head")).toEqual(["Deny", "Approve"]);
    await emil.choose("Approve", ".page-head");
    expect(await emil.page.until<string>(`document.querySelector("dialog p")?.innerText`)).toBe(
      "Nobody else must agree: it starts at once, as dora, on 2 hosts.",
    );
    await emil.choose("Approve", "dialog");
    await emil.page.until(`${status} === "done"`);
    await emil.page.click('dl.facts a[href*="/jobs/job-"]');
    await emil.page.until(`${outcomes} === "ok,ok"`);
    expect(await emil.page.evaluate<string>(`document.querySelector("dl.facts").innerText`)).toMatch(
      /By\s+dora, .*, with emil/,
    );
    // It cannot be decided about again.
    const again = await emil.request("POST", `approvals/${id}/approve`, {});
    expect(again.status).toBe(409);

    // Who asked can take it back, and another one can deny it: neither of them runs.
    const withdrawn = await requestFrom(dora, "first");
    await dora.open(`/approvals/${withdrawn}`, heading);
    await dora.choose("Withdraw", ".page-head");
    await dora.choose("Withdraw", "dialog");
    await dora.page.until(`${status} === "denied"`);
    const denied = await requestFrom(dora, "second");
    await emil.open(`/approvals/${denied}`, heading);
    await emil.choose("Deny", ".page-head");
    await emil.choose("Deny", "dialog");
    await emil.page.until(`${status} === "denied"`);
    await dora.open(`/approvals/${denied}`, heading);
    expect(await dora.buttons(".page-head")).toEqual([]);
    expect(await dora.page.evaluate<string>(`document.querySelector("main").innerText`)).toMatch(
      /Denied by\s+emil/,
    );
    expect((await fleet.rest("GET", "jobs?function=test.echo")).json).toHaveLength(1);
    for (const { page } of [dora, emil]) await page[Symbol.asyncDispose]();
  });

  test("two persons: revoking a host says before that it waits, and for which rule", async () => {
    const { fleet, hire, comeIn } = at();
    const { page, open, choose } = await comeIn(await hire("gwen", "careful"));
    const [peel] = fleet.peels;
    const said = (words: string) =>
      page.until(`document.querySelector("dialog")?.innerText.includes(${JSON.stringify(words)})`);
    const waits = "waits until another operator agrees, and then takes effect.";
    await open("/enrollments?state=active", "Enrollments");
    await page.until(`document.querySelector('[aria-label="Choose ${peel}"]') !== null`);
    await page.click(`[aria-label="Choose ${peel}"]`);
    await choose("Revoke", ".page-head");
    await said(`The decision ${waits}`);
    await said("For the rule: role careful, ");
    await choose("Cancel", "dialog");
    await page.click(`[aria-label="Choose ${fleet.peels[1]}"]`);
    await choose("Revoke 2", ".page-head");
    await said(`Each decision ${waits}`);
    await choose("Cancel", "dialog");
    await open(`/peels/${peel}`, peel);
    await choose("Revoke", ".page-head");
    await said(`The decision ${waits}`);
    await choose("Revoke", "dialog");
    expect(await page.until<string>(`document.querySelector(".says")?.innerText`)).toMatch(
      /^Revoking .* waits until other operators agree: apr-\w{27}$/,
    );
    await page[Symbol.asyncDispose]();
  });

  test("two persons: ending a rollout says before that it waits, and cancelling a job that it does not", async () => {
    const { fleet, hire, comeIn } = at();
    const { page, open, choose } = await comeIn(await hire("ines", "careful"));
    // Nobody of them answers: both run until they are told otherwise.
    const requested = { target: "silent-*", function: "test.ping", timeout: "10m" };
    const { jid } = (await fleet.rest("POST", "jobs", requested)).json as { jid: string };
    const { id } = (await fleet.rest("POST", "rollouts", { ...requested, canary: 1 })).json as { id: string };
    const end = async (path: string, verb: string, outlook: string, said: RegExp) => {
      await open(path, "test.ping");
      await choose(verb, ".page-head");
      await page.until(`document.querySelector("dialog")?.innerText.includes("The decision ${outlook}")`);
      await page.type("#confirm-count", String(silent.length));
      await choose(verb, "dialog");
      await page.until(`document.querySelector("dialog") === null`);
      expect(await page.until<string>(`document.querySelector(".says")?.innerText`)).toMatch(said);
    };
    const waits = "waits until another operator agrees, and then takes effect.";
    await end(`/rollouts/${id}`, "Abort", waits, /^Aborting the rollout waits until .* agree: apr-\w{27}$/);
    expect((await fleet.rest("GET", `rollouts/${id}`)).json).toMatchObject({ status: "running" });
    // What runs can be stopped by one person alone.
    await end(`/jobs/${jid}`, "Cancel the job", "takes effect at once.", /^The job is cancelled$/);
    await page[Symbol.asyncDispose]();
    await fleet.rest("POST", `rollouts/${id}/abort`, {});
  });
}
