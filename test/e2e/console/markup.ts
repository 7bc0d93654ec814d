import { expect, test } from "bun:test";
import { join } from "node:path";
import { makeDirectory, writeFileAtomic } from "../../../internal/base/files/file.ts";
import { enrollNew, newEnrollee } from "../../harness/enrollee.ts";
import { until } from "../../harness/until.ts";
import { type Company, markup, silent } from "./company.ts";

const yaml = (text: string) => `'${text}'`;

/** Markup and scripts in whatever somebody else may write. */
export function markupCases(at: () => Company): void {
  test("markup: on every page that shows what others wrote it is text, and no script runs", async () => {
    const { fleet, visit } = at();
    const places = await writeMarkup(at());
    const { page, open, choose } = await visit("reader", "admin");
    const complained = page.complaints.length;
    const lacking: string[] = [];
    for (const place of places) {
      await open(place);
      if (place.startsWith("/reactor/test")) await choose("Try it");
      if (place.startsWith("/events")) {
        await page.until(`document.querySelector("tbody tr a") !== null`);
        await page.press("j");
        await page.press("Enter");
      }
      const shown = () => page.evaluate<boolean>(`document.body.innerText.includes("<b>bold</b>")`);
      await until(shown, Boolean, 5_000).catch(() => lacking.push(place));
      const made = `document.querySelectorAll("main img, main b, dialog img, dialog b, [onerror], script:not([src])").length`;
      expect([place, await page.evaluate<number>(made)]).toEqual([place, 0]);
      expect(await page.evaluate<string>("document.title")).toEndWith(" · svc");
    }
    expect(lacking).toEqual([]);
    // The policy had nothing to stop: nothing was tried.
    expect(
      page.complaints.slice(complained).filter((text) => text.includes("ContentSecurityPolicy")),
    ).toEqual([]);
    expect(page.requests.filter((url) => url.endsWith("/x"))).toEqual([]);
    await page[Symbol.asyncDispose]();
    // Names that stand in addresses and commands have no markup to begin with.
    for (const [path, body] of [
      ["tokens", { name: markup, roles: ["viewer"] }],
      ["rollouts", { target: markup, function: "test.ping" }],
      ["jobs", { target: "*", function: markup }],
    ] as const) {
      expect([path, (await fleet.rest("POST", path, body)).status]).toEqual([path, 400]);
    }
  });

  test("markup: the policy stops a script that is there all the same, and the browser says so", async () => {
    const { visit } = at();
    const { page } = await visit("prober", "viewer");
    const before = page.complaints.length;
    await page.evaluate(
      `document.body.insertAdjacentHTML("beforeend", ${JSON.stringify(`<p id="planted">${markup}</p>`)})`,
    );
    await until(() => page.complaints.slice(before).some((text) => text.includes("ContentSecurityPolicy")));
    expect(await page.evaluate<string>("document.title")).toEndWith(" · svc");
    await page[Symbol.asyncDispose]();
  });
}

/** @returns addresses of the pages that show it */
async function writeMarkup({ fleet }: Company): Promise<string[]> {
  const { rest, bus, master, peels } = fleet;
  const [peel] = peels;
  const [hostile = ""] = silent;
  const door = { url: master.url, ca: bus.caPem };
  const pending = await enrollNew(door, newEnrollee("waits-too"), { hostname: markup });

  const run = async (fn: string, args: object) => {
    const { jid } = (await rest("POST", "jobs", { targets: [peel], function: fn, args })).json as {
      jid: string;
    };
    await until(
      async () => ((await rest("GET", `jobs/${jid}`)).json as { status: string }).status !== "running",
    );
    return jid;
  };
  const text = await run("test.echo", { text: markup });
  const path = join(bus.dir, "hostile.txt");
  const diff = await run("state.single", { fun: "file.managed", name: path, args: { contents: markup } });
  const failed = await run("cmd.run", { command: `echo ${yaml(markup)} >&2; exit 1` });
  await run("event.send", { tag: "markup/seen", data: { text: markup } });
  const started = await rest("POST", "rollouts", {
    target: peel,
    function: "test.echo",
    args: { text: markup },
  });
  const { id: rollout } = started.json as { id: string };

  const dir = join(master.dir, "reactor");
  makeDirectory(dir, 0o700);
  const rule = `rules: [{name: marked, match: [no/such], when: {data.text: {eq: ${JSON.stringify(markup)}}}, do: [{emit: {tag: a/b}}]}]\n`;
  writeFileAtomic(join(dir, "marked.yaml"), rule, 0o600);
  await until(async () => (await rest("GET", "reactor/rules")).text.includes('"marked"'));
  // The audit has the arguments of functions that take no secrets.
  await run("service.status", { name: markup });
  const [entry] = (await rest("GET", "audit?action=jobs.create&limit=1")).json as { seq: number }[];
  const tried = new URLSearchParams({ tag: "no/such", data: '{"text":"x"}' });
  return [
    "/peels?target=silent-*",
    `/peels/${hostile}`,
    `/peels/${hostile}/facts`,
    "/enrollments",
    `/enrollments/${pending}`,
    `/jobs/${text}`,
    `/jobs/${text}/${peel}`,
    `/jobs/${failed}`,
    `/jobs/${failed}/${peel}`,
    `/jobs/${diff}/${peel}`,
    `/rollouts/${rollout}`,
    "/reactor",
    `/reactor/test?${tried}`,
    "/events?tag=markup/*&since=1h",
    `/audit/${entry?.seq}`,
  ];
}
