import { join } from "node:path";
import { gibibyte } from "../../../internal/base/byte-size.ts";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { readCommandKeys } from "../../../internal/bus/accounts/key-files.ts";
import { provision } from "../../../internal/bus/assets/assets.ts";
import { newKeyPair } from "../../../internal/identity/nkey.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { freshAddress } from "../../harness/client.ts";
import { routes } from "../../harness/every-door.ts";
import { newOperator } from "../../harness/operators.ts";
import { listAdministrators } from "../../harness/registered.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { macOf } from "../../harness/vouchers.ts";
import { type Connection, openConnection } from "../enroll/connection.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { quiet } from "../quiet.ts";
import { mebibytes, milliseconds, table } from "../table.ts";
import { storeFleet } from "./store.ts";

// The first page of every list of the REST interface, of a fleet with many peels and jobs in store. The routes are
// found by their kind, so that a new one is measured as well, or stops the bench. See docs/bench.md.

const flags = readFlags({
  peels: ["10000", "20"],
  jobs: ["100000", "50"],
  rollouts: ["1000", "5"],
  approvals: ["200", "3"],
  operators: ["500", "3"],
  tokens: ["500", "3"],
  events: ["20000", "20"],
  entries: ["20000", "20"],
  asks: ["50", "2"],
  master: join(import.meta.dir, "../../../dist/svc-master"),
});
const requests = flags.count("asks");

await using bus = await startBus();
const mac = macOf(bus);
const root = newOperator("root");
listAdministrators(bus.authDir, root);
const writer = await connectTo(bus, "master");
await provision(
  writer,
  { replicas: 1, onlyRaise: true, offer: { storage: 8 * gibibyte, memory: gibibyte } },
  writer.log,
);
const keys = new Map<number, ReturnType<typeof newKeyPair>>();
const stored = await storeFleet(
  writer,
  {
    ...{ peels: flags.count("peels"), jobs: flags.count("jobs"), rollouts: flags.count("rollouts") },
    ...{ approvals: flags.count("approvals"), operators: flags.count("operators") },
    ...{ tokens: flags.count("tokens"), events: flags.count("events"), entries: flags.count("entries") },
  },
  {
    ...{ mac, root, signer: readCommandKeys(bus.authDir).current },
    keyOf(at) {
      const key = keys.get(at) ?? newKeyPair("user", systemRandom);
      keys.set(at, key);
      return key;
    },
  },
);
const system = await connectTo(bus, "system");

const started = systemClock.monotonic();
await using master = await startBenchMaster(bus, flags.text("master").split(" "));
const target = { port: master.port, ca: bus.caPem };
const headers = { Authorization: `Bearer ${master.token}` };

/** What the paths of routes name, and what their queries must have. */
const [peel = ""] = stored.peels.slice(-1);
const named: Readonly<Record<string, string>> = {
  ...{ id: peel.replaceAll("_", "."), jid: stored.job, name: "operator-1", seq: "1" },
};
const ofRooms: Readonly<Record<string, string>> = {
  ...{
    enrollments: stored.enrollment,
    rollouts: stored.rollout,
    approvals: stored.approval,
    "enroll-tokens": stored.joinToken,
  },
};
const queries: Readonly<Record<string, string>> = {
  "/api/v1/enrollments": "state=all",
  "/api/v1/facts": "show=os,osrelease,host",
  "/api/v1/facts/count": "by=os,osrelease",
  "/api/v1/audit/stored": "from=1",
  "/api/v1/fleet/roots": `current=sha256:${"0".repeat(64)}&next=sha256:${"1".repeat(64)}`,
  "/api/v1/peels/:id/settings/explain": "name=app",
  "/api/v1/targets": "target=*",
};
/** What answers with nothing here: there are no settings and no plans, and a token is no session. And a check, which takes its time. */
const absent = new Set([
  "/api/v1/cluster/check",
  "/api/v1/peels/:id/settings",
  "/api/v1/peels/:id/settings/explain",
  "/api/v1/plans/:id",
  "/api/v1/sessions/current",
]);
const isRead = (route: (typeof routes)[number]) =>
  route.method === "GET" && route.auth === "bearer" && route.operation !== undefined && !isStream(route);
const isStream = ({ doc }: (typeof routes)[number]) => doc.id.startsWith("stream");
const wanted = routes.filter((route) => isRead(route) && !absent.has(route.path));
const paths = wanted.map(({ path }) => {
  const room = path.split("/")[3] ?? "";
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => ofRooms[room] ?? named[name] ?? `:${name}`);
  const query = queries[path];
  return { path, request: query === undefined ? filled : `${filled}?${query}` };
});

await untilServed();
const startMs = systemClock.monotonic() - started;
const startCpu = cpuSecondsOf(master.pid);
// A start tells since when each peel is silent.
await quiet(master.pid);
await quiet(bus.server().pid);
const before = memoryOf(master.pid).privateMib;
const rows: string[][] = [];
for (const { path, request, run } of [
  ...paths.map((each) => ({ ...each, run: send })),
  { path: "/api/v1/events, the first one", request: "/api/v1/events?since=1h", run: firstEvent },
]) {
  const { times, bytes, messages, cpuMs } = await measure(request, run);
  const { privateMib } = memoryOf(master.pid);
  rows.push([
    path.replace("/api/v1/", ""),
    ...[at(times, 0.5), at(times, 0.99), Math.max(...times)].map(milliseconds),
    cpuMs.toFixed(1),
    (bytes / 1024).toFixed(0),
    messages.toFixed(1),
    mebibytes(privateMib),
  ]);
}
await Promise.all([writer.nats.close(), system.nats.close()]);
process.stdout.write(`
The first page of each list and each other read, asked ${requests} times over REST; ${flags.text("peels")} peels, ${flags.text("jobs")} jobs:

${table(["GET /api/v1/", "p50 ms", "p99 ms", "most ms", "master cpu ms", "KiB", "bus messages", "master MiB"], rows)}

The master answered ${milliseconds(startMs)} ms after its start and ${startCpu.toFixed(1)} s of processor time, and had ${mebibytes(before)} MiB before the first of these.
`);

/** Opens a connection for each ten requests, from addresses that have a full budget. */
async function measure(
  path: string,
  run: typeof send,
): Promise<{ times: number[]; bytes: number; messages: number; cpuMs: number }> {
  const times: number[] = [];
  let bytes = 0;
  let connection: Connection | undefined;
  const sent = await sentByBus();
  const cpu = cpuSecondsOf(master.pid);
  for (let count = 0; count < requests; count++) {
    if (count % 10 === 0) {
      connection?.close();
      connection = await openConnection(target, freshAddress());
    }
    const began = systemClock.monotonic();
    bytes = await run(path, connection);
    times.push(systemClock.monotonic() - began);
  }
  connection?.close();
  const cpuMs = ((cpuSecondsOf(master.pid) - cpu) * 1_000) / requests;
  return { times, bytes, cpuMs, messages: ((await sentByBus()) - sent) / requests };
}

/** @returns the bytes of the answer */
async function send(path: string, connection: Connection | undefined): Promise<number> {
  const answer = await connection?.request("GET", path, headers);
  if (answer?.status === 200) return answer.body.length;
  throw new Error(`${path}: ${answer?.status} ${answer?.body.slice(0, 300)}`);
}

/** The same up to the first event of a stream, on a connection of its own. */
async function firstEvent(path: string): Promise<number> {
  const stream = await fetch(`https://localhost:${target.port}${path}`, { headers, tls: { ca: target.ca } });
  let text = "";
  for await (const part of stream.body ?? []) {
    text += Buffer.from(part).toString();
    if (text.includes("event: event")) return text.length;
  }
  throw new Error(`${path}: ${stream.status} ${text.slice(0, 300)}`);
}

/** Messages that the server has sent to its clients. */
async function sentByBus(): Promise<number> {
  const reply = await system.nats.request("$SYS.REQ.SERVER.PING.VARZ", "", { timeout: 10_000 });
  return reply.json<{ data: { out_msgs: number } }>().data.out_msgs;
}

function at(times: readonly number[], part: number): number {
  return times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
}

/** A master listens before it has read everything, and answers after that. */
async function untilServed(): Promise<void> {
  const pauseMs = 50;
  for (let left = 2_400; left > 0; left--) {
    const connection = await openConnection(target, freshAddress());
    const { status } = await connection.request("GET", "/api/v1/peels?limit=1", headers);
    connection.close();
    if (status === 200) return;
    await sleep(systemClock, pauseMs);
  }
  throw new Error("the master does not answer");
}
