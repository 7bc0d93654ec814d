import { expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { newId, systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { encodeJwt, formatCredentials, newKeyPair, parseCredentials } from "../../identity/mod.ts";
import { createKeyRing, identityFiles } from "../identity/mod.ts";
import type { MasterClient } from "../joining/mod.ts";
import type { Connection } from "../link/mod.ts";
import { createAdministrators } from "../trust/mod.ts";
import { startRenewer } from "./renewer.ts";

// The keeper on a clock that a test moves, with masters in memory: what is asked when, and what every crash leaves.

const minute = 60_000;
const day = 24 * 60 * minute;
const peelId = "web-1";

/** Masters in memory: the keys of one record, and what is done with a request before it is answered. */
function fleet(clock: ReturnType<typeof manualClock>, lifetimeMs: number) {
  const issuer = newKeyPair("account", systemRandom);
  const key = newKeyPair("user", systemRandom);
  const enrollmentId = newId("enr", clock.now(), systemRandom);
  const record = { publicKey: key.publicKey, busKeys: [] as string[], state: "active" };
  const state = {
    renewals: 0,
    recoveries: 0,
    lose: false,
    away: false,
    suspended: false,
    /** Over HTTPS. */
    requests: 0,
    administrators: [] as object[],
    permits: [] as string[],
    onRequest: () => {},
  };
  const mint = (subject: string) => {
    const issuedAt = Math.floor(clock.now() / 1000);
    const allow = [...["renew", "rekey"].map((name) => `svc.peel.${peelId}.${name}`), ...state.permits];
    const nats = { pub: { allow } };
    const expiresAt = issuedAt + lifetimeMs / 1000;
    return encodeJwt({ type: "user", name: peelId, subject, issuedAt, expiresAt, nats }, issuer);
  };
  const take = (subject: string) => {
    if (record.busKeys.at(-1) !== subject) record.busKeys.push(subject);
    return { jwt: mint(subject), command_keys: [], administrators: state.administrators };
  };
  const refuse = (code: string) => encode({ ok: false, error: { code, message: code } });
  return {
    key,
    enrollmentId,
    record,
    state,
    issue() {
      const first = newKeyPair("user", systemRandom);
      return formatCredentials(take(first.publicKey).jwt, first.seed);
    },
    async request(subject: string, data: Uint8Array): Promise<Uint8Array> {
      state.onRequest();
      if (state.away) throw new Error("no answer");
      const requested = decode(data) as Record<string, string>;
      const { renews, bus_public_key: next = "", public_key: renamed } = requested;
      const current = record.busKeys.at(-1);
      const isRepeat = next === current && renews === record.busKeys.at(-2);
      if (subject.endsWith(".rekey")) {
        if (renamed === record.publicKey) return refuse("unauthorized");
        if (record.busKeys.includes(next)) return refuse("bad_request");
        record.publicKey = renamed ?? "";
      } else if (renews !== current && !isRepeat) return refuse("clone_suspected");
      state.renewals++;
      const answer = encode({ ok: true, ...take(next) });
      if (state.lose) throw new Error("the answer was lost");
      return answer;
    },
    client: {
      async request(method, path, options) {
        state.requests++;
        if (state.away) throw new Error("no master responded");
        if (path.includes("/by-key/"))
          return { status: 200, body: { id: enrollmentId, state: record.state } };
        if (method === "GET")
          return { status: 200, body: { challenge: "A".repeat(43).concat("="), challenge_id: "c" } };
        const requested = options?.body?.(undefined) ?? {};
        if (!["issued", "active"].includes(record.state)) return { status: 403, body: {} };
        if (state.suspended) {
          const answer = {
            status: 503,
            body: { error: "the enrollment x is suspended: an operator resumes it" },
          };
          // It would wait, and ask another master.
          if (options?.isFinal?.(answer) !== true) throw new Error("no master responded");
          return answer;
        }
        if (requested.public_key !== record.publicKey) return { status: 401, body: { error: "wrong key" } };
        if (record.busKeys.includes(String(requested.bus_public_key))) return { status: 400, body: {} };
        state.recoveries++;
        if (requested.revoke_previous === true) record.busKeys = [];
        return { status: 200, body: take(String(requested.bus_public_key)) };
      },
    } satisfies Pick<MasterClient, "request">,
  };
}

type Fleet = ReturnType<typeof fleet>;

function filesIn(dir: string) {
  const auth = join(dir, "auth");
  mkdirSync(auth, { recursive: true });
  return identityFiles(auth, peelId);
}

function enrolled(dir: string, masters: Fleet) {
  const files = filesIn(dir);
  writeFileSync(files.credentials, masters.issue());
  writeFileSync(files.seed, `${masters.key.seed}\n`);
  writeFileSync(files.enrollment, `${masters.enrollmentId}\n`);
}

/** A peel with these files. The bus takes a connection with a key of the record, and no other. */
function peel(
  dir: string,
  masters: Fleet,
  clock: ReturnType<typeof manualClock>,
  snapshot = (_: string) => {},
  hasMaster = true,
  publishes: readonly string[] = [],
) {
  const files = filesIn(dir);
  const log = recordingLog();
  const blocked = { unusable: false, refusals: 0, since: undefined as number | undefined };
  const reported: string[] = [];
  const halts: (number | "ended")[] = [];
  const wakes: (() => void)[] = [];
  const onConnect: (() => void)[] = [];
  const connection = {
    connected: true,
    urls: [],
    request: masters.request,
    onConnect(run: () => void) {
      onConnect.push(run);
      run();
      return () => {};
    },
    async reopen(open: (urls: string[]) => Promise<unknown>, taken: () => void) {
      await open([]);
      snapshot("before the file is replaced");
      taken();
      snapshot("after the file was replaced");
      for (const run of onConnect) run();
    },
    async restart() {},
  };
  const renewer = startRenewer({
    files,
    peelId,
    keys: createKeyRing(files, log),
    commandKeys: { replace() {}, differs: () => false },
    recoveryKeys: { learn() {} },
    administrators: createAdministrators(files, log),
    masters: hasMaster ? { client: masters.client, attempts: 1 } : undefined,
    obstacle: {
      blocked,
      onBlocked: (run) => wakes.push(run) > 0 && (() => {}),
      report: (reason) => reported.push(reason),
      clear() {
        Object.assign(blocked, { unusable: false, refusals: 0, since: undefined });
      },
      halt: (ms) => halts.push(ms),
      endHalt: () => halts.push("ended"),
      get isHalted() {
        return halts.length > 0;
      },
    } as Parameters<typeof startRenewer>[0]["obstacle"],
    again: "enroll again",
    publishes,
    clock,
    jitter: () => 0.5,
    random: systemRandom,
    log,
    signal: new AbortController().signal,
  });
  const link = {
    connection: connection as unknown as Connection,
    async open(_: readonly string[], credentials: string) {
      const { publicKey } = parseCredentials(credentials).key;
      if (!masters.record.busKeys.includes(publicKey)) throw new Error("refused");
      return undefined as never;
    },
    refresh: undefined,
  };
  const busKey = () => parseCredentials(readFileSync(files.credentials, "utf8")).key.publicKey;
  const wake = () => {
    for (const run of wakes) run();
  };
  return { files, log, renewer, link, connection, blocked, reported, halts, wake, busKey };
}

test("renewals follow one another at two thirds of each lifetime, with none in between", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 18 * day);
  enrolled(directory.path, masters);
  const { renewer, link, busKey } = peel(directory.path, masters, clock);
  renewer.attach(link);
  await clock.pass(11.9 * day);
  expect(masters.state.renewals).toBe(0);
  await clock.pass(0.2 * day);
  expect([masters.state.renewals, masters.record.busKeys.at(-1)]).toEqual([1, busKey()]);
  await clock.pass(4 * 12.1 * day);
  expect(masters.state.renewals).toBe(5);
  expect(renewer.counts).toMatchObject({ renewed: 5, failed: 0, refused: 0 });
  renewer.stop();
  expect(clock.pending).toBe(0);
});

test("credentials that lack what this version publishes on are renewed at once, and then once a day until they have it", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 90 * day);
  enrolled(directory.path, masters);
  const subject = `$KV.compliance.${peelId}`;
  const { renewer, link } = peel(directory.path, masters, clock, () => {}, true, [subject]);
  renewer.attach(link);
  await clock.pass(10 * minute);
  expect([masters.state.renewals, renewer.mayPublish(subject)]).toEqual([1, false]);
  await clock.pass(20 * 60 * minute);
  expect(masters.state.renewals).toBe(1);
  masters.state.permits = [subject];
  await clock.pass(6 * 60 * minute);
  expect([masters.state.renewals, renewer.mayPublish(subject)]).toEqual([2, true]);
  await clock.pass(10 * day);
  expect(masters.state.renewals).toBe(2);
  renewer.stop();
});

test.each([
  ["over HTTPS, where there is a master", true, 1],
  ["over the bus, with a warning, where there is none", false, 0],
])(
  "a peel that knows no administrators learns them with its next credentials: %s",
  async (_, hasMaster, recoveries) => {
    using directory = temporaryDirectory("keeper");
    const clock = manualClock();
    const masters = fleet(clock, 18 * day);
    enrolled(directory.path, masters);
    const { renewer, link, files, log, busKey } = peel(directory.path, masters, clock, () => {}, hasMaster);
    renewer.attach(link);
    const root = newKeyPair("user", systemRandom).publicKey;
    masters.state.administrators = [{ name: "root", public_key: root }];
    await clock.pass(12.1 * day);
    expect(readFileSync(files.administrators, "utf8")).toBe(`${root} root\n`);
    expect([masters.state.renewals, masters.state.recoveries]).toEqual([1, recoveries]);
    expect(masters.record.busKeys.at(-1)).toBe(busKey());
    const warned = log.records.some(({ event }) => event.startsWith("administrators learned over the bus"));
    expect(warned).toBe(!hasMaster);
    // The first list stays.
    masters.state.administrators = [{ name: "eve", public_key: newKeyPair("user", systemRandom).publicKey }];
    await clock.pass(12.1 * day);
    expect([masters.state.renewals, masters.state.recoveries]).toEqual([2, recoveries]);
    expect(readFileSync(files.administrators, "utf8")).toBe(`${root} root\n`);
    renewer.stop();
  },
);

test("while masters are away it is tried after a minute, and then ever more seldom", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 18 * day);
  enrolled(directory.path, masters);
  const { renewer, link } = peel(directory.path, masters, clock);
  const at: number[] = [];
  masters.state.away = true;
  masters.state.onRequest = () => at.push(clock.monotonic());
  renewer.attach(link);
  await clock.pass(12.5 * day);
  const gaps = at.slice(1).map((each, index) => each - (at[index] ?? 0));
  const waits = gaps.filter((each) => each > 30_000);
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(minute);
  expect(waits.slice(0, 3)).toEqual(waits.slice(0, 3).toSorted((one, other) => one - other));
  expect(Math.max(...waits)).toBeLessThanOrEqual(61 * minute);
  masters.state.away = false;
  await clock.pass(61 * minute);
  expect(masters.state.renewals).toBe(1);
  renewer.stop();
});

test("nothing is asked while the bus is away, whatever is due, and what is late comes after the connection", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 10 * day);
  enrolled(directory.path, masters);
  const { renewer, link, connection } = peel(directory.path, masters, clock);
  connection.connected = false;
  renewer.attach(link);
  await clock.pass(8 * day);
  expect([masters.state.renewals, clock.pending]).toEqual([0, 0]);
  renewer.stop();
});

test("a host clock that jumps costs one renewal for each jump, and no storm", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 180 * day);
  enrolled(directory.path, masters);
  let jumpMs = 0;
  const host = { ...clock, now: () => clock.now() + jumpMs } as typeof clock;
  const { renewer, link } = peel(directory.path, masters, host);
  renewer.attach(link);
  jumpMs = 3650 * day;
  await clock.pass(day);
  expect(masters.state.renewals).toBe(1);
  jumpMs = -3650 * day;
  await clock.pass(100 * day);
  expect(masters.state.renewals).toBe(1);
  await clock.pass(30 * day);
  expect(masters.state.renewals).toBe(2);
  renewer.stop();
});

test("a peel that is off the bus recovers once, and after that only as often as the backoff allows", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 180 * day);
  enrolled(directory.path, masters);
  const { renewer, blocked, wake } = peel(directory.path, masters, clock);
  Object.assign(blocked, { refusals: 2, since: clock.monotonic() });
  wake();
  await settle();
  expect(masters.state.recoveries).toBe(0);
  await clock.pass(minute);
  expect(masters.state.recoveries).toBe(1);
  for (let refused = 0; refused < 1000; refused++) {
    Object.assign(blocked, { refusals: 3, since: clock.monotonic() });
    wake();
    await clock.pass(3_600);
  }
  expect(masters.state.recoveries).toBeLessThan(12);
  renewer.stop();
});

test("an enrollment that has ended is said once, and asked for about once an hour", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 180 * day);
  enrolled(directory.path, masters);
  masters.record.state = "revoked";
  const { renewer, blocked, reported, halts, wake } = peel(directory.path, masters, clock);
  for (let refused = 0; refused < 60; refused++) {
    Object.assign(blocked, { refusals: 3, since: 0 });
    wake();
    await clock.pass(minute);
  }
  expect(reported).toEqual([`the enrollment ${masters.enrollmentId} of this peel was revoked`]);
  // The bus is asked no more.
  expect(halts).toEqual([Number.POSITIVE_INFINITY]);
  renewer.stop();
});

test("a minute after a peel was suspended, bus and masters are asked each five minutes, and the bus first", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 180 * day);
  enrolled(directory.path, masters);
  masters.state.suspended = true;
  const { renewer, blocked, halts, wake } = peel(directory.path, masters, clock);
  Object.assign(blocked, { refusals: 3, since: clock.monotonic() });
  wake();
  await settle();
  expect([masters.state.requests, halts]).toEqual([2, []]);
  await clock.pass(minute);
  expect(halts).toEqual([5.5 * minute]);
  const first = masters.state.requests;
  await clock.pass(5.5 * minute);
  expect(masters.state.requests).toBe(first);
  // The bus refuses it again.
  wake();
  await settle();
  expect([halts, masters.state.requests]).toEqual([[5.5 * minute, 5.5 * minute], first + 2]);
  masters.state.suspended = false;
  // Nothing comes from the bus.
  await clock.pass(6.5 * minute);
  expect(masters.state.recoveries).toBe(1);
  renewer.stop();
});

test("masters that do not answer let the bus be asked", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 180 * day);
  enrolled(directory.path, masters);
  masters.state.away = true;
  const { renewer, blocked, halts, wake } = peel(directory.path, masters, clock);
  Object.assign(blocked, { refusals: 3, since: clock.monotonic() });
  wake();
  await settle();
  expect(halts).toEqual(["ended"]);
  renewer.stop();
});

test("whatever a crash leaves of a renewal or a change of keys, the next start completes it", async () => {
  using directory = temporaryDirectory("keeper");
  for (const act of ["renew", "rekey"] as const) {
    const clock = manualClock();
    const masters = fleet(clock, 180 * day);
    const dir = join(directory.path, act);
    enrolled(dir, masters);
    const left: { name: string; dir: string; record: string }[] = [];
    const snapshot = (name: string) => {
      const to = join(directory.path, `${act}-${left.length}`);
      cpSync(dir, to, { recursive: true });
      left.push({ name, dir: to, record: JSON.stringify(masters.record) });
    };
    const { renewer, link } = peel(dir, masters, clock, snapshot);
    snapshot("before");
    masters.state.onRequest = () => snapshot("as it is asked");
    renewer.attach(link);
    await renewer[act]();
    snapshot("after");
    renewer.stop();
    masters.state.onRequest = () => {};
    expect(left.length).toBeGreaterThanOrEqual(5);
    const answered = JSON.stringify(masters.record);
    for (const crash of left) {
      // The masters may have answered, or not, when the peel crashed as it asked.
      for (const record of new Set([crash.record, ...(crash.name === "as it is asked" ? [answered] : [])])) {
        Object.assign(masters.record, JSON.parse(record));
        const again = join(directory.path, "again");
        rmSync(again, { recursive: true, force: true });
        cpSync(crash.dir, again, { recursive: true });
        const restarted = peel(again, masters, clock);
        restarted.renewer.attach(restarted.link);
        await clock.pass(20 * minute);
        const key = createKeyRing(restarted.files, restarted.log).current().publicKey;
        expect([crash.name, restarted.busKey(), key]).toEqual([
          crash.name,
          masters.record.busKeys.at(-1) ?? "",
          masters.record.publicKey,
        ]);
        restarted.renewer.stop();
      }
    }
  }
}, 60_000);

test("a peel that was killed between its new seed and its new credentials replaces its key on request", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 180 * day);
  const [dir, crashed] = [join(directory.path, "data"), join(directory.path, "crashed")];
  enrolled(dir, masters);
  const { renewer, link } = peel(dir, masters, clock, (name) => {
    if (name === "before the file is replaced") cpSync(dir, crashed, { recursive: true });
  });
  renewer.attach(link);
  const { publicKey: first } = await renewer.rekey();
  const again = peel(crashed, masters, clock);
  expect(again.busKey()).not.toBe(masters.record.busKeys.at(-1) ?? "");
  again.renewer.attach(again.link);
  expect((await again.renewer.rekey()).publicKey).not.toBe(first);
  expect([again.busKey()]).toEqual(masters.record.busKeys.slice(-1));
  for (const one of [renewer, again.renewer]) one.stop();
});

test("credentials that were cut off at any byte are recovered", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 180 * day);
  enrolled(directory.path, masters);
  const { credentials } = filesIn(directory.path);
  const whole = readFileSync(credentials);
  for (let bytes = 0; bytes < whole.length - 70; bytes += 41) {
    writeFileSync(credentials, whole);
    truncateSync(credentials, bytes);
    const { renewer, blocked, wake, busKey } = peel(directory.path, masters, clock);
    blocked.unusable = true;
    wake();
    await clock.pass(1_000);
    expect(masters.record.busKeys).toEqual([busKey()]);
    renewer.stop();
  }
});

test("an enrollment id that was cut off at any byte is looked up again by the next renewal", async () => {
  using directory = temporaryDirectory("keeper");
  const clock = manualClock();
  const masters = fleet(clock, 180 * day);
  enrolled(directory.path, masters);
  const { enrollment } = filesIn(directory.path);
  for (let bytes = 0; bytes < masters.enrollmentId.length; bytes++) {
    writeFileSync(enrollment, masters.enrollmentId.slice(0, bytes));
    const { renewer, link } = peel(directory.path, masters, clock);
    renewer.attach(link);
    await renewer.renew();
    expect(readFileSync(enrollment, "utf8")).toBe(`${masters.enrollmentId}\n`);
    renewer.stop();
  }
});
