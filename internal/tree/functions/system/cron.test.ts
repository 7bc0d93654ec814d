import { describe, expect, test } from "bun:test";
import { type Around, planOn } from "../../../../test/harness/planned-state.ts";
import { fixtureSystem } from "../../../../test/harness/system.ts";
import type { CallArgs } from "../../../host/modules/function.ts";

async function lineOn(id: string, name: string): Promise<string> {
  const { plan } = await planOn(
    { programs: ["crontab"] },
    "cron.present",
    name,
    { minute: "random", hour: 3 },
    { facts: { id } },
  );
  return (plan.changes[name] as { new: string }).new;
}

test("a random field differs between hosts and entries, and is the same in each run", async () => {
  expect(await lineOn("web-1", "/bin/x")).toMatch(/^(?:[0-9]|[1-5][0-9]) 3 \* \* \* \/bin\/x$/);
  expect(await lineOn("web-1", "/bin/x")).toBe(await lineOn("web-1", "/bin/x"));
  const hosts = Array.from({ length: 50 }, (_, at) => lineOn(`web-${at}`, "/bin/x"));
  expect(new Set(await Promise.all(hosts)).size).toBeGreaterThan(20);
});

test("an entry that is commented stays in the crontab, and cron does not run it", async () => {
  const crontab = "#DISABLED#0 3 * * * /bin/x\n";
  const answer = (argv: readonly string[]) => (argv.includes("-l") ? { stdout: crontab } : {});
  const host = { programs: ["crontab"], answer };
  const args = { minute: 0, hour: 3 };
  const kept = await planOn(host, "cron.present", "/bin/x", { ...args, commented: true });
  expect(kept.plan.apply).toBeUndefined();
  const { plan } = await planOn(host, "cron.present", "/bin/x", args);
  expect(plan.changes).toEqual({ "/bin/x": { old: "disabled: 0 3 * * * /bin/x", new: "0 3 * * * /bin/x" } });
  expect((await planOn(host, "cron.absent", "/bin/x")).plan.changes).toEqual({
    "/bin/x": { old: "disabled: 0 3 * * * /bin/x", new: "" },
  });
});

/** A host whose crontab is this text; `text` is the crontab afterwards. */
function hostWith(before: string) {
  let text = before;
  const host = fixtureSystem({
    files: { "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n" },
    programs: ["crontab"],
    answer(argv, { stdin }) {
      if (argv.includes("-l")) return { stdout: text };
      text = stdin ?? "";
      return {};
    },
  });
  return { host, text: () => text };
}

async function apply(before: string, ...[called, name, args, around]: CronCall): Promise<string | undefined> {
  const { host, text } = hostWith(before);
  const { plan } = await planOn(host, called, name, args, around);
  if (plan.apply === undefined) return undefined;
  await plan.apply();
  host.forget();
  // What is done once is not done again.
  expect((await planOn(host, called, name, args, around)).plan.apply).toBeUndefined();
  return text();
}
type CronCall = [called: string, name: string, args?: CallArgs, around?: Around];

const tag = "# Lines below here are managed by Salt, do not edit";
const nightly = (line: string) =>
  `MAILTO=me\n${tag}\n# SALT_CRON_IDENTIFIER:nightly\n${line}\n0 5 * * * /bin/other\n`;
const entry = { identifier: "nightly", minute: 30, hour: 2 };

test("a crontab with CR LF keeps its line ends", async () => {
  const before = "MAILTO=me\r\n0 5 * * * /bin/other\r\n";
  expect(await apply(before, "cron.present", "/bin/other", { minute: 0, hour: 5 })).toBeUndefined();
  expect(await apply(before, "cron.present", "/bin/x", { minute: 1, hour: 2 })).toBe(
    `${before}1 2 * * * /bin/x\r\n`,
  );
});

describe("a crontab that Salt wrote", () => {
  test.each<[string, CronCall, string | undefined]>([
    [nightly("30 2 * * * /bin/x"), ["cron.present", "/bin/x", entry], undefined],
    [
      nightly("@daily /bin/x"),
      ["cron.present", "/bin/x", { identifier: "nightly", special: "@daily" }],
      undefined,
    ],
    [
      nightly("#DISABLED#30 2 * * * /bin/x"),
      ["cron.present", "/bin/x", { ...entry, commented: true }],
      undefined,
    ],
    [
      nightly("#DISABLED#@daily /bin/x"),
      ["cron.present", "/bin/x", entry],
      `MAILTO=me\n${tag}\n# svc:nightly\n30 2 * * * /bin/x\n0 5 * * * /bin/other\n`,
    ],
    // The command of an entry may change, and its place stays.
    [
      nightly("30 2 * * * /bin/old"),
      ["cron.present", "/bin/x", entry],
      `MAILTO=me\n${tag}\n# svc:nightly\n30 2 * * * /bin/x\n0 5 * * * /bin/other\n`,
    ],
    // Without an identifier, Salt takes the command.
    [
      `${tag}\n# SALT_CRON_IDENTIFIER:/bin/x -a\n30 2 * * * /bin/x -a\n`,
      ["cron.present", "/bin/x -a", { minute: 30, hour: 2 }],
      undefined,
    ],
    [
      `${tag}\n# Back up SALT_CRON_IDENTIFIER:nightly\n30 2 * * * /bin/x\n`,
      ["cron.present", "/bin/x", { ...entry, comment: "Back up" }],
      undefined,
    ],
    [
      `${tag}\n# SALT_CRON_IDENTIFIER:NO ID SET\n30 2 * * * /bin/x\n`,
      ["cron.present", "/bin/x", entry],
      `${tag}\n# svc:nightly\n30 2 * * * /bin/x\n`,
    ],
    [
      nightly("30 2 * * * /bin/x"),
      ["cron.absent", "/bin/any", { identifier: "nightly" }],
      `MAILTO=me\n${tag}\n0 5 * * * /bin/other\n`,
    ],
    [nightly("30 2 * * * /bin/x"), ["cron.absent", "/bin/x"], undefined],
    [
      nightly("30 2 * * * /bin/x"),
      ["cron.absent", "/bin/other", { identifier: "more" }],
      `MAILTO=me\n${tag}\n# SALT_CRON_IDENTIFIER:nightly\n30 2 * * * /bin/x\n`,
    ],
    ["A=1\n0 1 * * * /bin/x\nA='2'\n", ["cron.env_absent", "A"], "0 1 * * * /bin/x\n"],
    [
      `${tag}\nMAILTO=ops@example.com\nEMPTY=""\n`,
      ["cron.env_present", "MAILTO", { value: "ops@example.com" }],
      undefined,
    ],
    [`${tag}\nMAILTO=ops@example.com\nEMPTY=""\n`, ["cron.env_present", "EMPTY", { value: "" }], undefined],
  ])("%j: %j", async (before, call, after) => {
    expect(await apply(before, ...call)).toBe(after);
  });
});

describe("entries without an identifier, and too many with one", () => {
  test("an entry of a person is taken over, because it would run twice", async () => {
    expect(await apply("0 1 * * * /bin/x\n0 2 * * * /bin/x\n", "cron.present", "/bin/x", entry)).toBe(
      "# svc:nightly\n30 2 * * * /bin/x\n0 2 * * * /bin/x\n",
    );
  });

  test("it is not when another state of the run means it", async () => {
    const described = [
      { function: "cron.present", name: "/bin/x" },
      { function: "cron.present", name: "/bin/x" },
    ];
    expect(await apply("0 1 * * * /bin/x\n", "cron.present", "/bin/x", entry, { described })).toBe(
      "0 1 * * * /bin/x\n# svc:nightly\n30 2 * * * /bin/x\n",
    );
  });

  test("the second entry that an earlier release wrote below the one of Salt goes", async () => {
    const twice = `${nightly("30 2 * * * /bin/x")}# svc:nightly\n30 2 * * * /bin/x\n`;
    expect(await apply(twice, "cron.present", "/bin/x", entry)).toBe(
      `MAILTO=me\n${tag}\n# svc:nightly\n30 2 * * * /bin/x\n0 5 * * * /bin/other\n`,
    );
    expect(await apply(twice, "cron.absent", "/bin/x", { identifier: "nightly" })).toBe(
      `MAILTO=me\n${tag}\n0 5 * * * /bin/other\n`,
    );
  });

  test("every entry of a command is removed", async () => {
    const text = "0 1 * * * /bin/x\n#DISABLED#@daily /bin/x\n# svc:kept\n0 2 * * * /bin/x\n";
    expect(await apply(text, "cron.absent", "/bin/x")).toBe("# svc:kept\n0 2 * * * /bin/x\n");
  });
});
