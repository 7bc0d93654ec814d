import { expect, test } from "bun:test";
import { join } from "node:path";
import { makeDirectory, writeFileAtomic } from "../../../internal/base/files/file.ts";
import { startMasterBinary } from "../../harness/fleet.ts";
import { until } from "../../harness/until.ts";
import { visitorOf } from "../../harness/visitor.ts";
import type { Company } from "./company.ts";

/** One fleet with two masters, of which each serves the console. */
export function twoMastersCases(at: () => Company): void {
  test("two masters: a session of one counts at the other, which shows jobs and the reactor of the first", async () => {
    const { fleet, visit, masters } = at();
    const { bus, peels, rest, master } = fleet;
    makeDirectory(join(master.dir, "reactor"), 0o700);
    const rule = "rules: [{name: of-the-first, match: [two/masters], do: [{emit: {tag: two/heard}}]}]\n";
    writeFileAtomic(join(master.dir, "reactor", "first.yaml"), rule, 0o600);
    await until(async () => (await rest("GET", "reactor/rules")).text.includes('"of-the-first"'));
    // The second master knows the token from its beginning.
    const here = await visit("traveller", "operator");
    await using second = await startMasterBinary(bus, ["--roles-file", join(master.dir, "roles.yaml")]);
    masters.push(second.url);
    const there = visitorOf(await here.page.tab(), second.url);

    // Nobody signs in there.
    await there.open("/peels", "Peels");
    await there.page.until(`document.querySelector("nav .foot strong")?.innerText === "token:traveller"`);
    await there.page.until(`document.querySelector("main").innerText.includes("${peels[0]}")`);

    // The reactor runs at the first master, and the second one has no file of rules.
    await there.open("/reactor", "Reactor");
    await there.page.until(`document.querySelector("main").innerText.includes("of-the-first")`);
    await there.open("/reactor/test", "Reactor");
    await there.page.type("#try-tag", "two/masters");
    await there.page.press("Enter");
    await there.page.until(`document.querySelector("main").innerText.includes("everything matches")`);

    // A job that begins at one is followed at the other, as its answers come.
    await here.open(`/jobs/new?function=test.ping&target=${encodeURIComponent("web-*")}`, "New job");
    await here.choose("Run on 2 peels");
    await here.page.until(`document.querySelector("h1")?.innerText === "test.ping"`);
    const path = (await here.page.evaluate<string>("location.pathname")).replace("/console", "");
    await there.open(path, "test.ping");
    const outcomes = `[...document.querySelectorAll("tbody tr td:nth-child(2)")].map((one) => one.innerText).join()`;
    for (const { page } of [here, there]) await page.until(`${outcomes} === "ok,ok"`);
    const wait = { targets: [peels[0]], function: "cmd.run", args: { command: "sleep 600" }, timeout: "20m" };
    const requested = await there.request("POST", "jobs", wait);
    const { jid } = JSON.parse(requested.text) as { jid: string };
    await here.open(`/jobs/${jid}`, "cmd.run");
    await there.open(`/jobs/${jid}`, "cmd.run");
    await there.choose("Cancel the job", ".page-head");
    await there.choose("Cancel the job", "dialog");
    await here.page.until(`${outcomes} === "cancelled"`);

    // Signed out there is signed out here, at the same moment.
    await there.signOut();
    expect((await here.request("GET", "peels")).status).toBe(401);
    await here.page.until(`document.querySelector("dialog[aria-label='Your session has ended']") !== null`);
    for (const { page } of [there, here]) await page[Symbol.asyncDispose]();
  });
}
