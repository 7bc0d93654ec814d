import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import { readDecisionFile } from "../../internal/fleet/decisions/log.ts";
import { operatorOperations } from "../../internal/fleet/operators/mod.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { startMaster } from "../harness/master.ts";
import { newOperator, requestAs, signedBy } from "../harness/operators.ts";
import { listAdministrators, recordOf, signedRecord } from "../harness/registered.ts";

// What was decided about operators stays decided after the restore of an older backup.

setDefaultTimeout(60_000);

const root = newOperator("root");
const ann = newOperator("ann", ["operator"]);
const bob = newOperator("bob", ["operator"]);
const carl = newOperator("carl", ["viewer"]);

/** A master that takes signed requests only, and its administrator. */
async function startFleet(bus: TestBus, env: Record<string, string>) {
  await using stack = new AsyncDisposableStack();
  const master = stack.use(await startMaster(bus, { config: { operators: { require_signed: true } }, env }));
  const connection = await connectTo(bus, "master");
  stack.defer(() => connection.nats.close());
  const started = stack.move();
  return {
    master,
    async must(binding: { bus: { subject: string } }, fields: Record<string, Plain>) {
      const { subject } = binding.bus;
      const answer = decode(
        await requestAs(connection, root, subject, signedBy(root, subject, encode(fields))),
      );
      expect(answer).toMatchObject({ ok: true });
      return Object(answer) as { operators: { name: string; state: string; roles: string[] }[] };
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

test("operators that were disabled, changed and added since are put back from the log of a master", async () => {
  await using bus = await startBus();
  listAdministrators(bus.authDir, root);
  const data = join(bus.dir, "data");
  mkdirSync(data, { mode: 0o700 });
  const saved = join(bus.dir, "saved");
  const creds = ["--creds", join(bus.authDir, "master.creds")];
  const env = { SVC_DATA_DIR: data };
  const { addOperator, disableOperator, setOperatorRoles, listOperators } = operatorOperations;
  {
    await using fleet = await startFleet(bus, env);
    const { must } = fleet;
    const [ofAnn, ofBob] = [recordOf(ann), recordOf(bob)];
    for (const record of [ofAnn, ofBob]) await must(addOperator, { record: signedRecord(record, root) });
    expect((await cli(bus, "bus", "backup", saved, ...creds)).exit).toBe(0);
    const ended = signedRecord({ ...ofAnn, version: 2, disabled: true }, root);
    await must(disableOperator, { name: "ann", record: ended });
    const narrowed = signedRecord({ ...ofBob, version: 2, roles: ["viewer"] }, root);
    await must(setOperatorRoles, { name: "bob", record: narrowed });
    await must(addOperator, { record: signedRecord(recordOf(carl), root) });
  }
  await bus.stop();
  renameSync(join(bus.dir, "store"), join(bus.dir, "store-before"));
  await bus.start();
  const log = join(data, "decisions.log");
  expect((await cli(bus, "bus", "restore", saved, ...creds)).exit).toBe(0);
  await using fleet = await startFleet(bus, env);
  const put = fleet.master.records.filter(
    ({ event }) => event === "a decision that the bus had lost was put back",
  );
  const restored = put.filter(({ fields }) => fields.bucket === "operators").map(({ fields }) => fields.key);
  expect(restored.sort()).toEqual(["ann", "bob", "carl"]);
  const { operators } = await fleet.must(listOperators, {});
  expect(operators.map(({ name, state, roles }) => [name, state, roles])).toEqual([
    ["ann", "disabled", ["operator"]],
    ["bob", "active", ["viewer"]],
    ["carl", "active", ["viewer"]],
    ["root", "active", ["admin"]],
  ]);
  const subject = listOperators.bus.subject;
  const owner = await connectTo(bus, "master");
  const refused = decode(await requestAs(owner, ann, subject, signedBy(ann, subject, encode({}))));
  expect(refused).toMatchObject({ ok: false, error: { code: "unauthorized" } });
  await owner.nats.close();
  expect(readDecisionFile(log).decisions.filter(({ bucket }) => bucket === "operators")).toHaveLength(3);
});

test("svc bus restore --decisions puts them back before any master runs", async () => {
  await using bus = await startBus();
  listAdministrators(bus.authDir, root);
  const data = join(bus.dir, "data");
  mkdirSync(data, { mode: 0o700 });
  const saved = join(bus.dir, "saved");
  const creds = ["--creds", join(bus.authDir, "master.creds")];
  {
    await using fleet = await startFleet(bus, { SVC_DATA_DIR: data });
    expect((await cli(bus, "bus", "backup", saved, ...creds)).exit).toBe(0);
    await fleet.must(operatorOperations.addOperator, { record: signedRecord(recordOf(carl), root) });
  }
  await bus.stop();
  renameSync(join(bus.dir, "store"), join(bus.dir, "store-before"));
  await bus.start();
  const restored = await cli(
    ...([bus, "bus", "restore", saved, ...creds, "--decisions", join(data, "decisions.log")] as const),
  );
  expect([restored.exit, restored.stdout]).toEqual([
    0,
    expect.stringMatching(/^operators +carl +- +missing$/m),
  ]);
  // A master that has no log of its own.
  await using fleet = await startFleet(bus, {});
  const { operators } = await fleet.must(operatorOperations.listOperators, {});
  expect(operators.map(({ name }) => name)).toContain("carl");
});
