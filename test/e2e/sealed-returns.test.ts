import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { attempt } from "../../internal/base/errors.ts";
import { makeDirectory, publicMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { formatAdministrators } from "../../internal/wire/administrators.ts";
import { encodeOperator, signOperator } from "../../internal/wire/operator-record.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import {
  binaries,
  type Daemon,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
} from "../harness/fleet.ts";
import { newOperator, type TestOperator, writeOperatorFile } from "../harness/operators.ts";
import { runProgram } from "../harness/process.ts";
import { operatorConfig } from "../harness/svc.ts";
import { until } from "../harness/until.ts";

// An operator with a key, whose role reveals settings, reads them in the returns of jobs, and nobody else does: neither
// another operator, nor REST, nor who has the disk of the bus or the logs.

setDefaultTimeout(120_000);

const root = newOperator("root");
/** Runs everything, and reveals nothing. */
const ben = newOperator("ben", ["operator"]);
const password = "kangchenjunga-of-the-database";
const hint = "jobs return *** for the values of settings";
/** One obeys masters, the other one operators only. */
const peels = ["web-1", "web-2"];
const sealedTo = Object.fromEntries(peels.map((peel) => [peel, password]));
const hiddenFrom = Object.fromEntries(peels.map((peel) => [peel, "***"]));

let bus: TestBus;
let master: MasterDaemon;
const daemons: Daemon[] = [];

beforeAll(async () => {
  bus = await startBus();
  const administrators = formatAdministrators([{ name: root.name, publicKey: root.key.publicKey }]);
  writeFileAtomic(join(bus.authDir, "administrators"), administrators, publicMode);
  const settings = join(bus.dir, "settings");
  makeDirectory(settings, 0o700);
  writeFileSync(join(settings, "top.sls"), "base:\n  '*': [db]\n");
  writeFileSync(join(settings, "db.sls"), `db: {password: ${password}, port: 5432}\n`);
  master = await startMasterBinary(bus, ["--settings-dir", settings]);
  const record = signOperator(
    {
      ...{ name: ben.name, publicKey: ben.key.publicKey, roles: ben.roles },
      ...{ createdAt: systemClock.now(), createdBy: root.name, version: 1 },
    },
    root.key,
  );
  const stored = await connectTo(bus, "master");
  await (await openBucket(stored, "operators")).put(ben.name, encodeOperator(record));
  await stored.nats.close();
  for (const [at, id] of peels.entries()) {
    const insists = 'require_operator: "on"\noperator_roles: {admin: ["*"], operator: ["*"]}\n';
    const peel = startPeelBinary(bus, master.url, id, at === 0 ? {} : { config: insists });
    daemons.push(peel);
    await peel.program.waitFor("waiting for an operator's approval");
    expect((await svc(root, "enroll", "approve", id)).code).toBe(0);
    await peel.program.waitFor("settings in force");
  }
  await until(async () => (await svc(ben, "whoami")).code === 0);
}, 120_000);
afterAll(async () => {
  for (const daemon of daemons) await daemon[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Runs the compiled `svc`: as an operator who signs, or with credentials alone. */
const svc = (who: TestOperator | undefined, ...words: string[]) =>
  runProgram([
    ...[binaries.cli, "--config", operatorConfig(bus, who && writeOperatorFile(bus, who))],
    ...words,
  ]);
/** What a command prints of a job. */
async function job(who: TestOperator | undefined, ...words: string[]) {
  const { stdout, stderr } = await svc(who, ...words, "--output", "json");
  const view = JSON.parse(stdout);
  const returns: Record<string, { return: unknown }> = view.returns;
  const values = Object.fromEntries(Object.entries(returns).map(([peel, one]) => [peel, one.return]));
  return { jid: String(view.jid), values, hint: view.hint as string | undefined, text: stdout + stderr };
}
const get = (who: TestOperator | undefined, target = "web-*") =>
  job(who, "run", target, "settings.get", "db:password");

test("an operator who may reveal settings reads them in returns, then and later", async () => {
  const ran = await get(root);
  expect([ran.values, ran.hint]).toEqual([sealedTo, undefined]);
  expect(ran.text).not.toContain(hint);
  const shown = await job(root, "job", "show", ran.jid);
  expect([shown.values, shown.hint]).toEqual([sealedTo, undefined]);
  const one = JSON.parse(
    (await svc(root, "job", "show", ran.jid, "--peel", "web-2", "--output", "json")).stdout,
  );
  expect(one).toMatchObject({ return: password });
  const items = await job(root, "run", "web-*", "pillar.items");
  const whole = { db: { password, port: 5432 } };
  expect(items.values).toEqual({ "web-1": whole, "web-2": whole });
  const table = await svc(root, "run", "web-1", "settings.items");
  expect(table.stdout).toContain(password);
});

test("everybody else sees the names, and where to see the values", async () => {
  const ran = await get(root);
  const seen = await job(ben, "job", "show", ran.jid);
  expect([seen.values, seen.hint]).toEqual([hiddenFrom, expect.stringContaining(hint)]);
  const unsigned = await job(undefined, "job", "show", ran.jid);
  expect(unsigned.values).toEqual(hiddenFrom);
  const own = await get(ben);
  expect([own.values, own.hint]).toEqual([hiddenFrom, expect.stringContaining(hint)]);
  const without = await get(undefined, "web-1");
  expect(without.values).toEqual({ "web-1": "***" });
  for (const { text } of [own, without]) expect(text).toContain(hint);
  for (const { text } of [seen, unsigned, own, without]) expect(text).not.toContain(password);
});

/** Everything that the bus has on its disk. */
const stored = () =>
  readdirSync(join(bus.dir, "store"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    // The bus removes files meanwhile.
    .map((entry) => attempt(() => readFileSync(join(entry.parentPath, entry.name), "latin1"), ""))
    .join("\n");
const logsOfAll = () => [master, ...daemons].map(({ program }) => program.output()).join("\n");

test("the value is neither in an answer of REST, nor on the disk of the bus, nor in a log", async () => {
  const { jid, values } = await get(root);
  expect(values).toEqual(sealedTo);
  const headers = { authorization: `Bearer ${master.token}` };
  for (const path of [`/api/v1/jobs/${jid}`, `/api/v1/jobs/${jid}?peel=web-1`]) {
    const { status, text: answered } = await send(master.url, bus.caPem, { path, headers });
    expect([status, answered.includes(password), answered.includes("sealed")]).toEqual([200, false, false]);
    expect(answered).toContain('"return":"***"');
    expect(answered).toContain(hint);
  }
  // The record of the job, its returns and its lines have been written and read by then.
  const withAll = (read: () => string, words: string[]) =>
    until(() => {
      const text = read();
      return words.every((word) => text.includes(word)) && text;
    });
  const kept = await withAll(stored, [jid, "seal_to", "sealed"]);
  const logs = await withAll(logsOfAll, [jid]);
  for (const text of [String(kept), String(logs)]) {
    for (const form of [password, Buffer.from(`x${password}`).toString("base64").slice(2, -4)]) {
      expect(text.includes(form)).toBe(false);
    }
  }
});
