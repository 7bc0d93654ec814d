import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { startImpostor, type TestAuthority, testAuthority } from "../../../test/harness/impostor.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { nthStatement, recoveryKey, trustFiles } from "../../../test/harness/succession.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { signSuccession } from "../../identity/succession/mod.ts";
import { createRefusedStatements } from "../trust/mod.ts";
import { openAccepted } from "./accepted.ts";
import { createPace } from "./pace.ts";
import { awaitSuccession, type WatchOptions } from "./watch.ts";

const files = temporaryDirectory("watch");
afterAll(() => files[Symbol.dispose]());
let own: TestAuthority;
let next: TestAuthority;
beforeAll(async () => {
  [own, next] = await Promise.all([testAuthority("Own"), testAuthority("Next")]);
});

const faster = 600;
/** Five minutes, as exact as a timer of 1 ms measures them here. */
const fiveMinutesMs = 5 * 60_000 - faster;
/** Five minutes in half a second. */
const fast: Clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * faster,
  after: (ms, run) => systemClock.after(ms / faster + (ms === 15_000 ? 2_000 : 0), run),
  every: (ms, run) => systemClock.every(ms / faster, run),
};
let count = 0;

/** A peel whose root is `own`, and a master with the certificate of some authority. */
async function stage(
  authority: TestAuthority,
  statement: () => unknown,
  byKey = 404,
  more: Partial<Pick<WatchOptions, "isRefused" | "onSatisfied">> = {},
) {
  const requestedAt: number[] = [];
  const paths: string[] = [];
  const checks = new Set<() => void>();
  /** Resolves when it was asked so often for paths with this word. */
  const requested = (word: string, times: number) =>
    new Promise<void>((resolve) => {
      checks.add(() => {
        if (paths.filter((path) => path.includes(word)).length >= times) resolve();
      });
    });
  const master = await startImpostor({
    tls: await authority.issue(),
    answer(_, { pathname }) {
      paths.push(pathname);
      for (const check of checks) check();
      if (pathname.endsWith("/succession")) {
        const found = statement();
        return found === undefined ? new Response("{}", { status: 404 }) : Response.json(found);
      }
      if (pathname.includes("/by-key/")) return Response.json({}, { status: byKey });
      return Response.json({ v: 1 });
    },
  });
  const accepted = openAccepted(trustFiles(join(files.path, `peel-${++count}`)));
  const log = recordingLog();
  const refused = createRefusedStatements({ clock: fast });
  const stopping = new AbortController();
  const pace = createPace(join(files.path, `asked-${count}`), { clock: fast, jitter: () => 0 });
  const watching = awaitSuccession({
    urls: [master.url],
    rung: () => ({ rung: 3, ca: { path: "anchor", pem: own.rootPem } }),
    across: () => ({}),
    key: () => newKeyPair("user", systemRandom),
    recoveryKeys: { current: [recoveryKey.publicKey] },
    accepted: { ...accepted, accept: () => {} },
    pace: {
      ...pace,
      requested() {
        requestedAt.push(fast.monotonic());
        pace.requested();
      },
    },
    refusedStatements: refused,
    isConnected: () => false,
    isRefused: () => false,
    onSatisfied() {},
    clock: fast,
    jitter: () => 0,
    log,
    signal: stopping.signal,
    ...more,
  });
  watching.catch(() => {});
  return {
    requestedAt,
    refused,
    log,
    watching,
    requested,
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error("the test is over"));
      await watching.catch(() => {});
      await master[Symbol.asyncDispose]();
    },
  };
}

const good = () => nthStatement(1, { ca_bundle_pem: next.rootPem, fingerprint: next.pin });

test("a master of another root is asked for a statement within two minutes, and that is accepted", async () => {
  const since = fast.monotonic();
  await using one = await stage(next, good);
  one.refused.note("rotation", "of the fleet before");
  expect(await one.watching).toEqual(good());
  expect(one.refused.current()).toEqual([]);
  expect(one.requestedAt).toHaveLength(1);
  expect((one.requestedAt[0] ?? 0) - since).toBeGreaterThanOrEqual(60_000);
});

test("what a thief serves is refused, told once, and asked for every five minutes at most", async () => {
  const { signature: _, key: __, ...fields } = good();
  const thief = signSuccession(fields, newKeyPair("user", systemRandom));
  await using one = await stage(next, () => thief);
  await one.requested("succession", 4);
  for (const [at, time] of one.requestedAt.slice(1).entries()) {
    expect(time - (one.requestedAt[at] ?? 0)).toBeGreaterThanOrEqual(fiveMinutesMs);
  }
  const reported = one.log.records.filter(({ event }) => event === "a statement of succession is refused");
  expect(reported.filter(({ level }) => level === "warn")).toHaveLength(1);
  expect(reported[0]?.fields.reason).toContain("is not a recovery key of this peel");
  expect(one.refused.current()).toEqual([
    { kind: "succession", reason: String(reported[0]?.fields.reason), at: expect.any(String) },
  ]);
});

test("a master of its own fleet that knows the peel is not asked for one", async () => {
  await using one = await stage(own, good, 200);
  await one.requested("by-key", 2);
  expect(one.requestedAt).toEqual([]);
});

test("a peel that was refused learns when a master of its fleet is back, and asks for a statement no more often", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using back = await stage(own, good, 200, { isRefused: () => true, onSatisfied: resolve });
  await promise;
  expect(back.requestedAt).toEqual([]);
  await using away = await stage(next, () => undefined, 404, { isRefused: () => true });
  await away.requested("succession", 3);
  for (const [at, time] of away.requestedAt.slice(1).entries()) {
    expect(time - (away.requestedAt[at] ?? 0)).toBeGreaterThanOrEqual(fiveMinutesMs);
  }
});

test("one that does not know its key is", async () => {
  await using one = await stage(own, good, 401);
  expect(await one.watching).toEqual(good());
});

test("a peel on the bus asks nobody", async () => {
  const clock = manualClock();
  const stopping = new AbortController();
  const never = () => {
    throw new Error("it asked");
  };
  let checks = 0;
  const watching = awaitSuccession({
    urls: ["https://localhost:1"],
    rung: never,
    across: never,
    key: never,
    recoveryKeys: { current: [recoveryKey.publicKey] },
    accepted: { statement: undefined, accept: never },
    pace: { waitMs: never, requested: never },
    refusedStatements: { note: never, clear: never },
    isConnected() {
      checks++;
      return true;
    },
    isRefused: () => false,
    onSatisfied() {},
    clock,
    jitter: () => 0,
    log: recordingLog(),
    signal: stopping.signal,
  });
  for (let minute = 0; minute < 60; minute++) {
    clock.advance(60_000);
    await Promise.resolve();
    await Promise.resolve();
  }
  expect(checks).toBeGreaterThan(10);
  stopping.abort(new Error("the test is over"));
  await expect(watching).rejects.toThrow("the test is over");
});
