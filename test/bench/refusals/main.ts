import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../internal/base/clock.ts";
import type { Log } from "../../../internal/base/log.ts";
import { encode } from "../../../internal/base/msgpack.ts";
import { fromOperatorSubject } from "../../../internal/base/names/operator-subject.ts";
import type { Bus } from "../../../internal/bus/connection/connect.ts";
import { encodeFailure } from "../../../internal/bus/subjects/envelope.ts";
import { createHandler } from "../../../internal/doors/rest/listener.ts";
import { json, type Route } from "../../../internal/doors/rest/route.ts";
import { createRequestJudge } from "../../../internal/fleet/requests/door.ts";
import { listenToOperators } from "../../../internal/fleet/requests/listen.ts";
import { createNonces } from "../../../internal/fleet/requests/nonces.ts";
import { createOperatorBudgets, operatorLimits } from "../../../internal/fleet/requests/operator-budgets.ts";
import { signedOrNot } from "../../../internal/fleet/requests/signed-or-not.ts";
import { parseTarget } from "../../../internal/tree/targets/parse.ts";
import { newOperator, registryOf, signedBy } from "../../harness/operators.ts";
import { anyDoc } from "../../harness/route-doc.ts";
import { readFlags } from "../flags.ts";
import { rate, table } from "../table.ts";

// What one refused request costs a master at each door of operators, without the network: the time of the processor,
// the bytes of the answer, and the bytes that stay in memory.

const flags = readFlags({ requests: ["20000", "200"], rounds: ["5", "1"] });
const requests = flags.count("requests");
const rounds = flags.count("rounds");
const clock = systemClock;
const log: Log = { info() {}, warn() {}, debug() {}, error() {}, with: () => log };

/** Refuses one request. @returns the bytes of the answer */
type Refuse = () => Promise<number> | number;

const ann = newOperator("ann");
const eve = newOperator("eve");
const subject = "svc.job.request";
const unlimited = { ...operatorLimits, perSecond: 1e9, burst: 1e9, forged: 1e9 };

/** What a master does with a request on the bus. */
function busDoor(limits = unlimited) {
  const served: Parameters<Bus["serve"]>[2][] = [];
  const bus: Pick<Bus, "serve"> = {
    serve(_, __, answer) {
      served.push(answer);
      return { stop() {} };
    },
  };
  const budgets = createOperatorBudgets({ limits, onLimited() {}, clock, log });
  const judge = createRequestJudge({
    ...{ registry: registryOf(ann), nonces: createNonces({ clock }), budgets, required: true, clock },
  });
  listenToOperators({ bus, log, requests: judge, budgets }, subject, "q", async (request) => {
    try {
      await signedOrNot(request, true, judge);
      return encode({ ok: true });
    } catch (thrown) {
      return encodeFailure(thrown);
    }
  });
  const { publicKey } = ann.key;
  const own = `_INBOX.${publicKey}.x`;
  const send = async (data: Uint8Array, reply = own) => {
    const answer = await served[0]?.(data, fromOperatorSubject(publicKey, subject), { reply });
    return answer?.length ?? 0;
  };
  return { budgets, send };
}

const good = () => signedBy(ann, subject, encode({}));
const signedByEve = signedBy(eve, subject, encode({}));
const forged = signedBy({ ...ann, key: { ...eve.key, publicKey: ann.key.publicKey } }, subject, encode({}));
const free = busDoor();
const spent = busDoor({ ...unlimited, perSecond: 1e-9, burst: 0 });
const suspended = busDoor({ ...unlimited, forged: 0, suspendedMs: 1e9 });
suspended.budgets.noteForged(ann.key.publicKey);
const once = good();
await free.send(once);

const dir = mkdtempSync(join(tmpdir(), "svc-bench-"));
writeFileSync(join(dir, "token"), "token-of-ann\n", { mode: 0o600 });
const route: Route = {
  ...{ method: "GET", path: "/api/v1/jobs", auth: "bearer", budget: "relaxed", doc: anyDoc },
  handle: () => json(200, {}),
};
/** What a master does with a request over HTTPS, after the handshake. */
function httpsDoor(limits = unlimited, time: Clock = clock) {
  let challenges = 0;
  const { handle } = createHandler({
    routes: [
      route,
      { ...route, path: "/api/v1/enroll/ca", auth: "none", budget: "strict" },
      {
        ...{ ...route, path: "/api/v1/enroll/nonce", auth: "none", budget: "strict", join: "challenge" },
        handle: () => json(200, { challenge_id: `chl-${++challenges}` }),
      },
      {
        ...{ ...route, method: "POST", path: "/api/v1/enroll", auth: "none", budget: "strict" },
        ...{ join: "submit", body: "json" },
      },
    ],
    joinTokens: { isOpen: (id) => id === "jtk-a" },
    tokens: [{ username: "ann", token_file: join(dir, "token") }],
    budgets: createOperatorBudgets({ limits, onLimited() {}, clock, log }),
    metrics: { rateLimited() {}, connectionClosed() {}, httpRequest() {} },
    ...{ clock: time, log },
  });
  let address = 0;
  return async (target: string, token?: string, isFresh = false, body?: Uint8Array) => {
    const response = await handle({
      ...{
        method: body === undefined ? "GET" : "POST",
        target,
        ip: `10.${isFresh ? ++address >> 16 : 0}.${(address >> 8) & 255}.${address & 255}`,
      },
      headers: new Headers({
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      }),
      signal: new AbortController().signal,
      body: async () => body ?? new Uint8Array(),
      keepOpen() {},
      prove() {},
    });
    return (await response.text()).length;
  };
}
const https = httpsDoor();
/** Where no time passes, so that the places of the address stay. */
const joining = httpsDoor(unlimited, { ...clock, monotonic: () => 0 });
/** As large as a body without evidence may be. */
const largest = new TextEncoder().encode(
  JSON.stringify({ challenge_id: "chl-none", token: { id: "jtk-a" }, metadata: { text: "x".repeat(4_000) } }),
);
const httpsSpent = httpsDoor({ ...unlimited, perSecond: 1e-9, burst: 0 });
const target = (text: string) => () => {
  try {
    parseTarget(text);
    return 0;
  } catch (thrown) {
    return encodeFailure(thrown).length;
  }
};

const doors: [door: string, before: string, refuse: Refuse][] = [
  ["bus: reply in the inbox of someone else", "decoded", () => free.send(once, "_INBOX.x")],
  ["bus: the budget of the key is spent", "nothing", () => spent.send(once)],
  ["bus: the key is suspended", "nothing", () => suspended.send(forged)],
  ["bus: signed by another key", "decoded", () => free.send(signedByEve)],
  ["bus: wrong signature", "decoded, verified", () => free.send(forged)],
  ["bus: sent before", "decoded, verified, looked up", () => free.send(once)],
  ["HTTPS: the budget of an address for enrollment is spent", "parsed", () => https("/api/v1/enroll/ca")],
  [
    "HTTPS: a token has no place for this address",
    "parsed, token looked up",
    () => joining("/api/v1/enroll/nonce?token=jtk-a"),
  ],
  [
    "HTTPS: 4 KB of an address with a place, for another challenge",
    "parsed, body read and parsed",
    () => joining("/api/v1/enroll", undefined, false, largest),
  ],
  [
    "HTTPS: the budget of an address is spent",
    "parsed, token compared",
    () => https("/api/v1/jobs", "no-token"),
  ],
  [
    "HTTPS: no such token, from a new address",
    "parsed, token compared",
    () => https("/api/v1/jobs", "no-token", true),
  ],
  [
    "HTTPS: the budget of a token is spent",
    "parsed, token compared",
    () => httpsSpent("/api/v1/jobs", "token-of-ann"),
  ],
  ["target: repeats too often", "parsed", target("E@a{999}")],
  ["target: too large", "parsed, compiled", target(`E@(${"\\pL".repeat(100)}){100}`)],
];
const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const heap = () => {
  Bun.gc(true);
  return process.memoryUsage().heapUsed;
};

const rows: string[][] = [];
for (const [door, before, refuse] of doors) {
  const times: number[] = [];
  let bytes = 0;
  for (let at = 0; at < Math.min(requests, 500); at++) bytes = await refuse();
  const held = heap();
  for (let round = 0; round < rounds; round++) {
    const begun = cpuMs();
    for (let at = 0; at < requests; at++) bytes = await refuse();
    times.push(((cpuMs() - begun) * 1_000) / requests);
  }
  const kept = Math.max(0, (heap() - held) / (requests * rounds));
  const median = times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
  rows.push([door, before, median.toFixed(1), rate(bytes), kept.toFixed(1)]);
}
rmSync(dir, { recursive: true, force: true });
process.stdout.write(`
One refused request at each door of operators
${cpus().length} x ${cpus()[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
${rounds} rounds of ${requests} requests; medians of the processor time

${table(["door", "done before", "µs", "bytes of the answer", "bytes kept"], rows)}
`);
