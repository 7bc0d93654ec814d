import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { makeDirectory } from "../../internal/base/files/file.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { operate } from "../harness/peel-connection.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// One signature for all peels of a job, in a fleet of two masters.

setDefaultTimeout(60_000);

interface OnTheBus {
  subject: string;
  kind: string;
  jid: string;
  peel: string;
  proof: Uint8Array;
  signature: Uint8Array;
  bytes: Uint8Array;
}

const files = temporaryDirectory("signed-once");
const current = ["web-1", "web-2", "web-3"];
const peels = new Map<string, TestPeel>();
const seen: OnTheBus[] = [];
let bus: TestBus;
let masters: TestMaster[] = [];
let server: Bus;

async function startMember(id: string): Promise<void> {
  const [{ url } = { url: "" }] = masters;
  const dataDir = join(files.path, id);
  makeDirectory(dataDir, 0o700);
  const peel = startPeel(dataDir, [
    ...["--id", id, "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", url, "--enroll-ca", bus.caFile],
  ]);
  peels.set(id, peel);
  const { fields } = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  await operate(masters[0] as TestMaster, String(fields?.enrollment_id), "approve");
  await peel.ready;
}

beforeAll(async () => {
  bus = await startBus();
  masters = [await startMaster(bus), await startMaster(bus)];
  server = await connectTo(bus, "master");
  server.nats.subscribe("svc.job.*.*.*", {
    callback: (_, { subject, data }) => {
      const [, , jid = "", kind = "", peel = ""] = subject.split(".");
      if (kind !== "dispatch" && kind !== "stop") return;
      const { proof, signature } = decode(data) as { proof: Uint8Array; signature: Uint8Array };
      const bytes = Uint8Array.from(data);
      seen.push({ subject, kind, jid, peel, proof, signature, bytes });
    },
  });
  for (const id of current) await startMember(id);
});
afterAll(async () => {
  for (const peel of peels.values()) await peel[Symbol.asyncDispose]();
  await server?.nats.close();
  for (const master of masters) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

interface View {
  jid: string;
  status: string;
  outcomes: Record<string, string>;
  counts: Record<string, number>;
}

async function rest(master: TestMaster, method: string, path: string, body?: unknown): Promise<View> {
  const reply = await send(master.url, master.ca, {
    method,
    path,
    headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    from: freshAddress(),
  });
  if (reply.status >= 300) throw new Error(`${reply.status}: ${reply.text}`);
  return reply.json as View;
}
const dispatch = async (master: TestMaster, call: Record<string, unknown>) =>
  (await rest(master, "POST", "/api/v1/jobs", call)).jid;
const outcomes = async (master: TestMaster, jid: string) =>
  (await rest(master, "GET", `/api/v1/jobs/${jid}`)).outcomes;
const all = (targets: readonly string[], outcome: string) =>
  Object.fromEntries(targets.map((id) => [id, outcome]));
/** The commands of a job of this kind, one for each of so many peels. */
const commandsOf = (kind: string, jid: string, count: number) =>
  until(() => {
    const found = seen.filter((command) => command.jid === jid && command.kind === kind);
    return new Set(found.map(({ peel }) => peel)).size >= count ? found : undefined;
  }) as Promise<OnTheBus[]>;
const signatures = (commands: readonly OnTheBus[]) =>
  new Set(commands.map(({ signature }) => Buffer.from(signature).toString("hex")));

test("every master signs once for all peels, and they run the job", async () => {
  for (const master of masters) {
    const jid = await dispatch(master, { targets: current, function: "test.true" });
    expect(signatures(await commandsOf("dispatch", jid, current.length)).size).toBe(1);
    await until(async () => Bun.deepEquals(await outcomes(master, jid), all(current, "ok")));
  }
});

test("what the bus changes, sends to another peel or sends twice runs nowhere", async () => {
  const [master] = masters as [TestMaster];
  const jid = await dispatch(master, { targets: current, function: "test.true" });
  const commands = await commandsOf("dispatch", jid, current.length);
  await until(async () => Bun.deepEquals(await outcomes(master, jid), all(current, "ok")));
  const [one, two] = commands.toSorted((a, b) => (a.peel < b.peel ? -1 : 1)) as [OnTheBus, OnTheBus];
  const refused = (peel: string, reason: string) =>
    peels.get(peel)?.log.logged("command refused", (fields) => fields.reason === reason);
  server.nats.publish(two.subject, one.bytes);
  await refused("web-2", "signed for another peel or job");
  const changed = encode({ ...(decode(two.bytes) as object), proof: one.proof });
  server.nats.publish(two.subject, changed);
  await refused("web-2", "the signature is wrong");
  server.nats.publish(
    one.subject,
    encode({ ...(decode(one.bytes) as object), proof: new Uint8Array(33 * 33) }),
  );
  await refused("web-1", "malformed command");
  const again = peels.get("web-1")?.log.logged("command came again", (fields) => fields.jid === jid);
  server.nats.publish(one.subject, one.bytes);
  await again;
  expect(await outcomes(master, jid)).toEqual(all(current, "ok"));
});

test("a cancellation is signed once as well, by the other master", async () => {
  const [first, second] = masters as [TestMaster, TestMaster];
  const call = { targets: current, function: "test.sleep", args: { length: "1h" }, timeout: "2h" };
  const jid = await dispatch(first, call);
  for (const peel of peels.values()) await peel.log.logged("job taken", (fields) => fields.jid === jid);
  await rest(second, "POST", `/api/v1/jobs/${jid}/cancel`);
  const stops = await commandsOf("stop", jid, current.length);
  expect(signatures(stops).size).toBe(1);
  await until(async () => Bun.deepEquals(await outcomes(first, jid), all(current, "cancelled")));
});
