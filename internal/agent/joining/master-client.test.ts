import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import {
  type Impostor,
  startImpostor,
  type TestAuthority,
  testAuthority,
} from "../../../test/harness/impostor.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Clock } from "../../base/clock.ts";
import type { LogFields } from "../../base/log.ts";
import { createTrust } from "../../identity/trust/anchor.ts";
import { TrustError } from "../../identity/trust/mismatch.ts";
import { createMasterClient } from "./master-client.ts";
import { refusal } from "./refusal.ts";

let fleet: TestAuthority;
let stranger: Impostor;
let servers: Impostor[];
let answers: ((request: Request) => Response | Promise<Response>)[];

const ok = () => Response.json({ fine: true });

beforeAll(async () => {
  fleet = await testAuthority("Fleet");
  const tls = await fleet.issue();
  servers = [0, 1, 2].map((index) =>
    startImpostor({ tls, answer: (request) => (answers[index] ?? ok)(request) }),
  );
  stranger = startImpostor({ tls: await (await testAuthority("Other")).issue(), answer: ok });
});
afterAll(async () => {
  for (const server of [...servers, stranger]) await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  answers = [];
  for (const server of servers) server.requests.length = 0;
});

/** A clock whose pauses between attempts are over at once; other timers wait for the test. */
function impatientClock() {
  const clock = manualClock();
  const pauses: number[] = [];
  const log = recordingLog();
  const skip = (event: string, fields: LogFields) => {
    log.warn(event, fields);
    const ms = Number(fields.retry_in_ms ?? 0);
    pauses.push(ms);
    queueMicrotask(() => clock.advance(ms));
  };
  return {
    clock,
    pauses,
    log: { ...log, warn: (event: string, fields: LogFields = {}) => skip(event, fields) },
  };
}

function clientOf(
  urls: readonly string[],
  options: { clock?: Clock; jitter?: number; attempts?: number } = {},
) {
  const { clock, pauses, log } = impatientClock();
  const abort = new AbortController();
  const shared = { clock: options.clock ?? clock, log, signal: abort.signal };
  const rung = { rung: 1 as const, ca: { path: "ca.crt", pem: fleet.rootPem } };
  const client = createMasterClient({
    ...shared,
    urls,
    trust: createTrust({ ...shared, rung, storeAnchor: () => {} }),
    jitter: () => options.jitter ?? 0.999_999,
    ...(options.attempts === undefined ? {} : { attempts: options.attempts }),
  });
  return { client, pauses, clock, abort, log };
}
const urls = () => servers.map(({ url }) => url);
const counts = () => servers.map(({ requests }) => requests.length);

test("the next master is asked when one is away, and stays the one that is asked", async () => {
  const { client } = clientOf(["https://localhost:1", ...urls().slice(1)]);
  expect(await client.request("GET", "/x")).toMatchObject({ status: 200, body: { fine: true } });
  await client.request("GET", "/x");
  expect(counts()).toEqual([0, 2, 0]);
});

test("a 5xx rotates, round and round, with pauses that double", async () => {
  let broken = 4;
  answers = [0, 1, 2].map(() => () => (broken-- > 0 ? new Response("{}", { status: 503 }) : ok()));
  const { client, pauses } = clientOf(urls());
  expect(await client.request("GET", "/x")).toMatchObject({ status: 200 });
  expect(counts()).toEqual([2, 2, 1]);
  expect(pauses).toEqual([1000, 2000, 4000, 8000]);
});

test("jitter shortens a pause to no less than its half", async () => {
  let broken = 1;
  answers = [() => (broken-- > 0 ? new Response("{}", { status: 500 }) : ok())];
  const { client, pauses } = clientOf(urls().slice(0, 1), { jitter: 0 });
  await client.request("GET", "/x");
  expect(pauses).toEqual([500]);
});

test.each([400, 401, 403, 404, 409, 413])("a %i is an answer and never rotates", async (status) => {
  answers = [() => Response.json({ error: "no" }, { status })];
  const { client, pauses } = clientOf(urls());
  for (let i = 0; i < 3; i++) {
    expect(await client.request("GET", "/x")).toMatchObject({ status, body: { error: "no" } });
  }
  expect([counts(), pauses]).toEqual([[3, 0, 0], []]);
});

test("a refusal names the request as the master's log does, if that is fit to be shown", async () => {
  const answerWith = (id: string) =>
    Response.json({ error: "no" }, { status: 409, headers: { "X-Request-ID": id } });
  const { client } = clientOf(urls().slice(0, 1));
  const said = async (id: string) => {
    answers = [() => answerWith(id)];
    return refusal("refused", await client.request("GET", "/x")).message;
  };
  expect(await said("r-1")).toBe("refused: no (status 409, request r-1)");
  expect(await said("a b")).toBe("refused: no (status 409)");
  expect(await said("0".repeat(129))).toBe("refused: no (status 409)");
});

test("a 429 increases the pause, at least to Retry-After, and does not rotate", async () => {
  let limited = 6;
  const refuse = () => Response.json({}, { status: 429, headers: { "Retry-After": "10" } });
  answers = [() => (limited-- > 0 ? refuse() : ok())];
  const { client, pauses, log } = clientOf(urls(), { jitter: 0 });
  expect(await client.request("GET", "/x")).toMatchObject({ status: 200 });
  expect(counts()).toEqual([7, 0, 0]);
  expect(new Set(log.records.map(({ event }) => event))).toEqual(new Set(["master asks to come later"]));
  expect(pauses).toEqual([10_000, 10_000, 10_000, 10_000, 16_000, 32_000]);
});

test("a redirect is not followed, and counts as no answer", async () => {
  answers = [() => Response.redirect(servers[2]?.url ?? "")];
  const { client } = clientOf(urls());
  await client.request("GET", "/x");
  expect(counts()).toEqual([1, 1, 0]);
});

test("a master that does not answer in time is left for the next", async () => {
  const requested = Promise.withResolvers<void>();
  answers = [
    () => {
      requested.resolve();
      return new Promise<Response>(() => {});
    },
  ];
  const { client, clock } = clientOf(urls());
  const answer = client.request("GET", "/x");
  await requested.promise;
  clock.advance(15_000);
  expect(await answer).toMatchObject({ status: 200 });
  expect(counts()).toEqual([1, 1, 0]);
  expect(clock.pending).toBe(0);
});

test("an answer without end is cut, and counts as none", async () => {
  answers = [
    () => new Response(new ReadableStream({ pull: (sink) => sink.enqueue(new Uint8Array(65_536)) })),
  ];
  const { client } = clientOf(urls());
  await client.request("GET", "/x");
  expect(counts()).toEqual([1, 1, 0]);
});

test("a master that fails verification ends it, even when other masters exist", async () => {
  const { client } = clientOf([stranger.url, ...urls()]);
  await expect(client.request("GET", "/x")).rejects.toBeInstanceOf(TrustError);
  await expect(client.stream("/x", () => true)).rejects.toBeInstanceOf(TrustError);
  expect([stranger.requests, counts()]).toEqual([[], [0, 0, 0]]);
});

test("attempts are bounded where they are meant to be", async () => {
  const { client } = clientOf(["https://localhost:1"], { attempts: 4 });
  await expect(client.request("GET", "/x")).rejects.toMatchObject({ kind: "unavailable" });
});

test("a stream ends when enough was seen, and rotates only when it fails", async () => {
  const events = (text: string) => () =>
    new Response(text, { headers: { "Content-Type": "text/event-stream" } });
  answers = [
    events(': heartbeat\n\nevent: state\r\ndata: {"state":"approved"}\r\n\r\nevent: state\ndata: {}\n\n'),
    () => new Response("{}", { status: 404 }),
  ];
  const { client } = clientOf(urls());
  const seen: unknown[] = [];
  await client.stream("/x", (event, data) => seen.push([event, data]) === 1);
  expect(seen).toEqual([["state", { state: "approved" }]]);
  answers[0] = () => new Response("{}", { status: 404 });
  await client.stream("/x", () => true);
  answers[0] = () => new Response("{}", { status: 503 });
  await client.stream("/x", () => true);
  expect(counts()).toEqual([3, 0, 0]);
  await client.stream("/x", () => true);
  expect(counts()).toEqual([3, 1, 0]);
});

test("a stream that went silent is given up after three heartbeats", async () => {
  const opened = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  answers = [() => new Response(new ReadableStream({ start: (sink) => opened.resolve(sink) }))];
  const { client, clock } = clientOf(urls());
  const beats = Promise.withResolvers<void>();
  const reading = client.stream("/x", () => {
    beats.resolve();
    return false;
  });
  (await opened.promise).enqueue(Buffer.from("event: state\ndata: {}\n\n"));
  await beats.promise;
  clock.advance(89_999);
  expect(clock.pending).toBe(1);
  clock.advance(1);
  await reading;
  expect(clock.pending).toBe(0);
});

test("the signal ends a request and a stream with its reason", async () => {
  const requested = Promise.withResolvers<void>();
  answers = [
    () => {
      requested.resolve();
      return new Promise<Response>(() => {});
    },
  ];
  const { client, abort } = clientOf(urls());
  const outcomes = Promise.allSettled([client.request("GET", "/x"), client.stream("/x", () => true)]);
  await requested.promise;
  const reason = new Error("stopped");
  abort.abort(reason);
  expect(await outcomes).toEqual([
    { status: "rejected", reason },
    { status: "rejected", reason },
  ]);
});
