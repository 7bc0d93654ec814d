import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { decodeRecord, type Enrollment } from "../../internal/fleet/enrollment/record/record.ts";
import { enlist, enlistPending, mintMember, peelsAccountKey } from "../fleet/credentials.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startCli } from "../harness/cli.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { newOperator, registryOf, writeOperatorFile } from "../harness/operators.ts";
import { listAdministrators } from "../harness/registered.ts";
import { until } from "../harness/until.ts";

// Decisions on many enrollments at once: what is selected, shown, asked, left out, counted, and interrupted.

setDefaultTimeout(60_000);

const roles = `roles:
  careful:
    enrollments: [list, {do: approve, approvals: 1}, reject, revoke]
`;
const ann = newOperator("ann", ["careful"]);
const root = newOperator("root", ["admin"]);

let bus: TestBus;
let master: TestMaster;
let connection: Bus;

beforeAll(async () => {
  bus = await startBus();
  listAdministrators(bus.authDir, ann, root);
  const file = join(bus.dir, "roles.yaml");
  writeFileSync(file, roles);
  master = await startMaster(bus, { operators: registryOf(ann, root), flags: ["--roles-file", file] });
  connection = await connectTo(bus, "master");
});
afterAll(async () => {
  await connection?.drain();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function svc(argv: readonly string[], options: Parameters<typeof startCli>[2] = {}) {
  const running = startCli(bus, ["enroll", ...argv], options);
  const exit = await running.exit;
  return { exit, stdout: running.stdout, stderr: running.stderr };
}
const pending = (hosts: Parameters<typeof enlistPending>[2]) => enlistPending(connection, bus.authDir, hosts);
const named = (name: string, count: number, more: Partial<Enrollment> = {}) =>
  Array.from({ length: count }, (_, at) => ({ peelId: `${name}-${at}_example_com`, ...more }));
const mismatched = { trustedCaSpki: "x", trustSignature: "y", trustMismatch: true };
async function statesOf(records: readonly { id: string }[]): Promise<string[]> {
  const enrollments = await openBucket(connection, "enrollments");
  return Promise.all(
    records.map(async ({ id }) => {
      const entry = await enrollments.get(id);
      return entry === undefined ? "" : decodeRecord(entry.value).state;
    }),
  );
}
const all = (count: number, state: string) => Array.from({ length: count }, () => state);

test("shows what it would do, asks, and does it; another time nothing is left", async () => {
  const records = await pending(named("web", 12, { address: "10.20.0.7" }));
  const others = await pending([{ peelId: "other_example_com" }]);
  const match = ["approve", "--match", "web-*.example.com"];

  const refused = await svc(match);
  expect([refused.exit, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toContain("add --yes to approve them");
  expect(refused.stderr).toStartWith("approve 12 enrollments:\nID ");
  expect(refused.stderr.match(/^enr-/gm)).toHaveLength(10);
  expect(refused.stderr).toContain("\nand 2 more\n");
  expect(refused.stderr).toContain("10.20.0.7");

  for (const answer of ["n", "", "maybe"]) {
    const declined = await svc(match, { answer });
    expect([declined.exit, declined.stdout]).toEqual([1, ""]);
    expect(declined.stderr).toEndWith(`Approve 12 enrollments? [y/N] ${answer}\nnothing was done\n`);
  }
  expect(await statesOf(records)).toEqual(all(12, "pending"));

  const done = await svc(match, { answer: "y" });
  expect([done.exit, done.stdout]).toEqual([0, "12 approved\n"]);
  expect(await statesOf([...records, ...others])).toEqual([...all(12, "approved"), "pending"]);

  const again = await svc([...match, "--yes"]);
  expect([again.exit, again.stdout, again.stderr]).toEqual([0, "0 approved\n", "nothing is selected\n"]);
});

test("what another operator decides between the question and the answer is counted apart, and no failure", async () => {
  const records = await pending(named("both", 3));
  const match = ["approve", "--match", "both-*"];
  const others = async () => {
    expect(await svc([...match, "--limit", "2", "--yes"])).toMatchObject({ exit: 0, stdout: "2 approved\n" });
    return "y";
  };
  const later = await svc(match, { answer: others });
  expect([later.exit, later.stdout]).toEqual([0, "1 approved, 2 decided by others meanwhile\n"]);
  expect(await statesOf(records)).toEqual(all(3, "approved"));
  // One that is named is an error, as it is alone.
  const [{ id = "" } = {}] = records;
  expect(await svc(["approve", id])).toMatchObject({ exit: 1, stdout: "" });
});

test("a mismatch is left out and counted, unless it is named by its id and forced", async () => {
  const good = await pending(named("good", 3));
  const bad = await pending(named("good-bad", 2, mismatched));
  const [first, second] = bad.map(({ id }) => id);
  const match = ["approve", "--match", "good*", "--yes"];
  const selected = await svc([...match, "--force", "--limit", "1"]);
  expect([selected.exit, selected.stdout]).toEqual([0, "1 approved, 2 left out\n"]);
  expect(selected.stderr).toContain("2 MISMATCH! left out (enr-");
  expect(selected.stderr).toContain("--force applies to enrollments that are named by their ids");
  const rest = await svc([...match, "--output", "json"]);
  expect([rest.exit, JSON.parse(rest.stdout)]).toMatchObject([
    0,
    { counts: { approved: 2, waiting: 0, left_out: 2, decided_meanwhile: 0, failed: 0, not_begun: 0 } },
  ]);
  expect(await statesOf([...good, ...bad])).toEqual([...all(3, "approved"), ...all(2, "pending")]);
  const forced = await svc([...match, "--force", first ?? ""]);
  expect([forced.exit, forced.stdout]).toEqual([0, "1 approved, 1 left out\n"]);
  expect(await statesOf(bad)).toEqual(["approved", "pending"]);
  // Without force the one that is named fails, as it does alone.
  const named_ = await svc(["approve", second ?? "", "--match", "good*", "--yes", "--output", "json"]);
  expect([named_.exit, JSON.parse(named_.stdout).counts]).toMatchObject([1, { approved: 0, failed: 1 }]);
  expect(named_.stderr).toContain("CA root");
  // To keep such a host out needs no force.
  expect((await svc(["reject", "--match", "good-bad-*", "--yes"])).stdout).toBe("1 rejected\n");
});

test("a mismatch that only the master finds is left out too, and --force does not reach it", async () => {
  // Lists show one mark of a record, and here it is another one.
  const hidden = await pending(named("hidden", 2, { ...mismatched, cloneSuspected: true }));
  const selected = await svc(["approve", "--match", "hidden-*", "--yes", "--force"]);
  expect([selected.exit, selected.stdout]).toEqual([0, "0 approved, 2 left out\n"]);
  expect(await statesOf(hidden)).toEqual(all(2, "pending"));
  expect((await svc(["reject", "--match", "hidden-*", "--yes"])).stdout).toBe("2 rejected\n");
});

test("addresses and evidence narrow the selection, oldest first up to the limit", async () => {
  const inside = await pending(named("rack", 2, { address: "192.0.2.9" }));
  const mapped = await pending(named("rack-mapped", 1, { address: "::ffff:192.0.2.10" }));
  const tpm = await pending(
    named("rack-tpm", 2, { address: "192.0.2.77", evidence: { type: "tpm", fields: {} } }),
  );
  const outside = await pending([
    ...named("rack-far", 1, { address: "198.51.100.1" }),
    ...named("rack-none", 1),
  ]);
  const reject = (...words: string[]) => svc(["reject", "--yes", "--reason", "not ours", ...words]);
  expect((await reject("--evidence", "tpm", "--limit", "1")).stdout).toBe("1 rejected\n");
  expect((await reject("--evidence", "x509")).stdout).toBe("0 rejected\n");
  expect((await statesOf(tpm)).sort()).toEqual(["pending", "rejected"]);
  expect((await reject("--match", "rack*", "--address", "192.0.2.0/24")).stdout).toBe("4 rejected\n");
  expect(await statesOf([...inside, ...mapped, ...tpm])).toEqual(all(5, "rejected"));
  expect(await statesOf(outside)).toEqual(all(2, "pending"));
  expect((await reject("--match", "rack-*")).stdout).toBe("2 rejected\n");
});

test("members are revoked by a selection, and by several ids", async () => {
  const account = peelsAccountKey(bus.authDir);
  await enlist(
    connection,
    bus.authDir,
    named("old", 5).map(({ peelId }) => mintMember(peelId, account)),
  );
  const waiting = await pending(named("old-new", 1));
  const selected = await svc(["revoke", "--match", "old-*", "--limit", "3", "--yes", "--output", "json"]);
  const { counts, enrollments } = JSON.parse(selected.stdout);
  expect([selected.exit, counts]).toMatchObject([0, { revoked: 3, failed: 0 }]);
  expect(await statesOf(enrollments)).toEqual(all(3, "revoked"));
  const { stdout } = await svc(["list", "--state", "active", "--output", "json"]);
  const ids = (JSON.parse(stdout) as { id: string; peel_id: string }[])
    .filter(({ peel_id }) => peel_id.startsWith("old-"))
    .map(({ id }) => id);
  expect(ids).toHaveLength(2);
  const several = await svc(["revoke", ...ids, "enr-x"]);
  expect([several.exit, several.stdout.match(/^revoked enr-/gm)]).toEqual([
    1,
    ["revoked enr-", "revoked enr-"],
  ]);
  expect(await statesOf(waiting)).toEqual(["pending"]);
});

test("what is named is asked for at a terminal as well, and --yes answers", async () => {
  const records = await pending(named("asked", 2));
  const [first = "", second = ""] = records.map(({ id }) => id);
  const states = () => statesOf(records);
  const declined = await svc(["approve", "asked-0.example.com"], { answer: "n" });
  expect(declined).toMatchObject({
    ...{ exit: 1, stdout: "" },
    stderr: `asked-0.example.com is ${first} (asked-0.example.com)\nApprove asked-0.example.com? [y/N] n\nnothing was done\n`,
  });
  expect((await svc(["approve", first, second], { answer: "" })).stderr).toBe(
    "Approve 2 enrollments? [y/N] \nnothing was done\n",
  );
  expect(await states()).toEqual(["pending", "pending"]);
  expect(await svc(["approve", first, second, "--yes"], { answer: "n" })).toMatchObject({
    ...{ exit: 0, stderr: "" },
  });
  for (const words of [[first], ["--peel", "asked-0.example.com"], [first, "--wait"]]) {
    const kept = await svc(["revoke", ...words], { answer: "n" });
    const name = words.at(-1) === "asked-0.example.com" ? "asked-0.example.com" : first;
    expect([kept.exit, kept.stdout, kept.stderr]).toEqual([
      ...[1, "", `Revoke ${name}? [y/N] n\nnothing was done\n`],
    ]);
  }
  expect(await states()).toEqual(["approved", "approved"]);
  expect(await svc(["revoke", first, "--yes"], { answer: "n" })).toMatchObject({ exit: 0, stderr: "" });
  // Nobody can answer in a script, and none of those that name what they mean breaks.
  expect(await svc(["revoke", second])).toMatchObject({ exit: 0, stderr: "" });
  expect(await states()).toEqual(["revoked", "revoked"]);
});

test("what keeps a peel off the bus or brings it back is asked for as well", async () => {
  const records = await pending(named("kept", 1));
  const [id = ""] = records.map((one) => one.id);
  for (const [verb, question] of [
    ["suspend", `Suspend ${id}`],
    ["resume", `Resume ${id}`],
    ["clear-clone", `Clear the clone mark of ${id}`],
    ["restore", `Restore the enrollment ${id}`],
    ["discard", `Discard the enrollment ${id}`],
  ] as const) {
    const declined = await svc([verb, id], { answer: "n" });
    expect([declined.exit, declined.stdout, declined.stderr]).toEqual([
      ...[1, "", `${question}? [y/N] n\nnothing was done\n`],
    ]);
    // It is tried, and refused by the masters: the enrollment waits, and nothing is wrong with it.
    const tried = await svc([verb, id, "--yes"], { answer: "n" });
    expect([verb, tried.exit, tried.stderr]).toEqual([verb, 1, expect.not.stringContaining("[y/N]")]);
  }
  expect(await statesOf(records)).toEqual(["pending"]);
});

test("labels of the enrollment before are shown first, and given again or dropped", async () => {
  const former = { enrollment: "enr-000000000000000000000000001", labels: { team: "db", rack: "7" } };
  const records = await pending(named("had", 5, { former }));
  const ids = records.map(({ id }) => id);
  const [first = "", second = "", third = ""] = ids;
  const labelsOf = async (id: string) => {
    const entry = await (await openBucket(connection, "enrollments")).get(id);
    const { state, labels } = decodeRecord(entry?.value ?? new Uint8Array());
    return { state, labels };
  };
  const shown = await svc(["show", first]);
  expect(shown.stdout).toContain(JSON.stringify(former));
  const declined = await svc(["approve", first], { answer: "n" });
  expect(declined).toMatchObject({ exit: 1, stdout: "" });
  expect(declined.stderr).toBe(
    `had-0.example.com had the labels team=db rack=7, and gets them again: --drop-labels approves it without\nApprove ${first}? [y/N] n\nnothing was done\n`,
  );
  expect(await labelsOf(first)).toEqual({ state: "pending", labels: undefined });
  expect(await svc(["approve", first], { answer: "y" })).toMatchObject({ exit: 0 });
  expect(await labelsOf(first)).toEqual({ state: "approved", labels: former.labels });
  // Scripts are not asked.
  const dropped = await svc(["approve", second, "--drop-labels"]);
  expect(dropped).toMatchObject({ exit: 0, stderr: expect.stringContaining("rack=7, and loses them\n") });
  expect(await labelsOf(second)).toEqual({ state: "approved", labels: undefined });
  const direct = await svc(["approve", third, "--drop-labels", "--direct-kv"], {
    operatorFile: writeOperatorFile(bus, root),
  });
  expect(direct).toMatchObject({ exit: 0, stderr: expect.stringContaining("and loses them") });
  expect(await labelsOf(third)).toEqual({ state: "approved", labels: undefined });
  // A master takes it over as it is.
  await until(
    async () => (await svc(["show", third])).stdout,
    (text) => /^trust +-$/m.test(text),
  );
  const rest = await svc(["approve", "--match", "had-*", "--yes"]);
  expect(rest).toMatchObject({ exit: 0, stdout: "2 approved\n" });
  expect(rest.stderr).toContain("had-3.example.com had the labels team=db rack=7, and gets them again");
  expect(rest.stderr).toContain("had-4.example.com had the labels team=db rack=7, and gets them again");
  expect(await labelsOf(ids[4] ?? "")).toEqual({ state: "approved", labels: former.labels });
});

test("Ctrl-C begins nothing new, waits for what has begun, and counts", async () => {
  const records = await pending(named("long", 200));
  const running = startCli(bus, ["enroll", "approve", "--match", "long-*", "--yes"], { tty: true });
  await running.wrote(/0\/200/);
  running.interrupt();
  expect(await running.exit).toBe(130);
  const [, approved, open] = /(\d+) approved, (\d+) not begun\n$/.exec(running.stdout) ?? [];
  expect(Number(approved) + Number(open)).toBe(200);
  const states = await statesOf(records);
  expect(states.filter((state) => state === "approved")).toHaveLength(Number(approved));
  expect(Number(approved)).toBeLessThanOrEqual(64);
  // It can be repeated, and on a terminal a bar shows how far it is.
  const rest = startCli(bus, ["enroll", "approve", "--all", "--match", "long-*"], { tty: true });
  expect(await rest.exit).toBe(2);
  const finished = startCli(bus, ["enroll", "reject", "--match", "long-*", "--yes"], { tty: true });
  expect(await finished.exit).toBe(0);
  expect(finished.stdout).toBe(`${open} rejected\n`);
  expect(finished.stderr).toMatch(/\r\[\.+\] {2}0\/\d+/);
});

test("requests that wait for others are counted as waiting", async () => {
  const records = await pending(named("two", 3));
  const operatorFile = writeOperatorFile(bus, ann);
  const requested = await svc(["approve", "--match", "two-*", "--yes", "--output", "json"], { operatorFile });
  const { counts, enrollments } = JSON.parse(requested.stdout);
  expect([requested.exit, counts]).toMatchObject([0, { approved: 0, waiting: 3, failed: 0 }]);
  expect(enrollments[0]).toMatchObject({ outcome: "waiting", approval: expect.stringMatching(/^apr-/) });
  expect(await statesOf(records)).toEqual(all(3, "pending"));
  expect((await svc(["reject", "--match", "two-*", "--yes"], { operatorFile })).stdout).toBe("3 rejected\n");
});

test("--direct-kv selects from storage, and writes there", async () => {
  const records = await pending(named("direct", 3));
  const bad = await pending(named("direct-bad", 1, mismatched));
  const done = await svc(["approve", "--match", "direct-*", "--yes", "--direct-kv"], {
    operatorFile: writeOperatorFile(bus, root),
  });
  expect([done.exit, done.stdout]).toEqual([0, "3 approved, 1 left out\n"]);
  expect(await statesOf([...records, ...bad])).toEqual([...all(3, "approved"), "pending"]);
});

test.each([
  [["approve"], "name the enrollments to approve by their ids or hosts, or select them with"],
  [["approve", "--limit", "3"], "--limit is for"],
  [["approve", "--all", "--match", "x"], "--all and --match exclude each other"],
  [["approve", "--match", ""], "--match: "],
  [["approve", "--match", "x", "--limit", "0"], '--limit: "0" is not a number from 1'],
  [["approve", "--address", "10.0.0.1/8"], '--address: "10.0.0.1/8" is not a range of addresses'],
  [["approve", "--evidence", "magic"], "--evidence"],
  [["revoke", "--match", "x", "--peel", "web-1"], "name one of"],
  [["revoke", "--peel", "y"], "--peel: "],
  [["revoke", "--match", "x", "--wait"], "--wait is only for one enrollment"],
])("%j is refused", async (argv, message) => {
  const { exit, stderr } = await svc(argv);
  expect([exit, stderr]).toEqual([2, expect.stringContaining(message)]);
});
