import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readDecisionFile } from "../../internal/fleet/decisions/log.ts";
import { enrollmentOf } from "../../internal/fleet/decisions/order.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { readinessBecomes } from "../harness/enrollee.ts";
import { logRecords, type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import {
  connectPeel,
  type EnrolledPeel,
  enrollPeel,
  fetchCredentials,
  operate,
  submitPeel,
} from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// Restores of older backups, killed masters, damaged logs and full disks, with the compiled programs.

setDefaultTimeout(60_000);

const doorOf = (bus: TestBus, { url, token }: MasterDaemon) => ({ url, token, ca: bus.caPem });
const creds = (bus: TestBus) => ["--creds", join(bus.authDir, "master.creds")];
const keyOf = (peel: EnrolledPeel) => parseCredentials(peel.credentials).key.publicKey;

async function admitted(bus: TestBus, peel: EnrolledPeel): Promise<boolean> {
  try {
    await using _ = await connectPeel(bus, peel);
    return true;
  } catch {
    return false;
  }
}

let generation = 0;

/** Gives the bus an empty store, as after the loss of its disk. */
async function loseStore(bus: TestBus): Promise<void> {
  await bus.stop();
  renameSync(join(bus.dir, "store"), join(bus.dir, `store-${++generation}`));
  await bus.start();
}

async function stateOf(bus: TestBus, id: string): Promise<string> {
  const { stdout } = await svc(bus, "enroll", "show", id, "--output", "json");
  const { state, Suspended: suspended } = JSON.parse(stdout);
  return suspended === undefined ? state : `${state}, suspended`;
}

/** Every order of a backup and of decisions about one peel, and the bus restored to the backup. */
async function decidedAroundBackup() {
  const bus = await startBus();
  const data = join(bus.dir, "data");
  const env = { SVC_DATA_DIR: data };
  const saved = join(bus.dir, "saved");
  const at = join(data, "decisions.log");
  let left: Awaited<ReturnType<typeof decide>> | undefined;
  const decide = async (daemon: MasterDaemon) => {
    const door = doorOf(bus, daemon);
    const done = async (id: string, action: Parameters<typeof operate>[2]) =>
      expect((await operate(door, id, action)).status).toBe(200);
    const waiting = await submitPeel(door, "approved-after");
    const known = await enrollPeel(door, "revoked-after");
    const early = await enrollPeel(door, "revoked-before");
    const loud = await enrollPeel(door, "suspended-after");
    const quiet = await enrollPeel(door, "resumed-after");
    await done(early.enrollmentId, "revoke");
    await done(quiet.enrollmentId, "suspend");
    expect((await svc(bus, "bus", "backup", saved, ...creds(bus))).code).toBe(0);
    await done(waiting.enrollmentId, "approve");
    const approved = await fetchCredentials(door, waiting);
    await done(known.enrollmentId, "revoke");
    await done(loud.enrollmentId, "suspend");
    await done(quiet.enrollmentId, "resume");
    const gone = await enrollPeel(door, "all-after");
    await done(gone.enrollmentId, "revoke");
    const again = await enrollPeel(door, "revoked-before");
    return { approved, known, early, loud, quiet, gone, again };
  };
  {
    await using daemon = await startMasterBinary(bus, [], env);
    left = await decide(daemon);
  }
  await loseStore(bus);
  return {
    ...{ bus, env, saved, log: at, peels: left },
    async verify() {
      const { approved, known, early, loud, quiet, gone, again } = left;
      for (const peel of [known, loud, gone, early]) await until(async () => !(await admitted(bus, peel)));
      for (const peel of [approved, quiet, again]) await until(() => admitted(bus, peel));
      const states = await Promise.all(
        Object.entries(left).map(async ([name, { enrollmentId }]) => [
          name,
          await stateOf(bus, enrollmentId),
        ]),
      );
      expect(Object.fromEntries(states)).toEqual({
        ...{ approved: "issued", known: "revoked", early: "revoked", loud: "issued, suspended" },
        ...{ quiet: "issued", gone: "revoked", again: "issued" },
      });
    },
    [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
  };
}

test("whatever was decided before and after a backup, a restore and a master with its log give the newest", async () => {
  await using fleet = await decidedAroundBackup();
  const { bus, env, saved } = fleet;
  expect((await svc(bus, "bus", "restore", saved, ...creds(bus))).code).toBe(0);
  await using daemon = await startMasterBinary(bus, [], env);
  await fleet.verify();
  const verified = await svc(bus, "bus", "verify");
  expect([verified.code, verified.stderr]).toEqual([0, ""]);
  const put = logRecords(daemon.program).filter(
    ({ msg }) => msg === "a decision that the bus had lost was put back",
  );
  expect(put.length).toBeGreaterThanOrEqual(9);
});

test("the same with a log that is given to the restore, and a master that has none", async () => {
  await using fleet = await decidedAroundBackup();
  const { bus, saved, log } = fleet;
  const restored = await svc(bus, "bus", "restore", saved, ...creds(bus), "--decisions", log);
  expect(restored.code).toBe(0);
  await using _ = await startMasterBinary(bus);
  await fleet.verify();
});

test("without any log the revoked peel is refused, listed and revocable, although the bus knows nothing of it", async () => {
  await using fleet = await decidedAroundBackup();
  const { bus, saved, peels } = fleet;
  expect((await svc(bus, "bus", "restore", saved, ...creds(bus))).code).toBe(0);
  await using connection = await connectPeel(bus, peels.gone);
  const ended = connection.logged("bus disconnected");
  await using _ = await startMasterBinary(bus);
  await ended;
  await until(async () => !(await admitted(bus, peels.gone)));
  const { stdout } = await svc(bus, "enroll", "strays", "--output", "json");
  expect(JSON.parse(stdout)).toEqual([
    expect.objectContaining({ peel_id: "all-after", bus_public_key: keyOf(peels.gone) }),
  ]);
  expect((await svc(bus, "enroll", "revoke", "--peel", "all-after")).code).toBe(0);
  expect(await admitted(bus, peels.gone)).toBe(false);
  // Its backup says that it may connect: no log says otherwise.
  expect(await admitted(bus, peels.known)).toBe(true);
});

test("a master that is killed as soon as a decision is in its log has decided", async () => {
  await using bus = await startBus();
  const env = { SVC_DATA_DIR: join(bus.dir, "data") };
  const log = join(bus.dir, "data", "decisions.log");
  const saved = join(bus.dir, "saved");
  let id: string;
  {
    await using daemon = await startMasterBinary(bus, [], env);
    const door = doorOf(bus, daemon);
    id = (await submitPeel(door, "web-1")).enrollmentId;
    expect((await svc(bus, "bus", "backup", saved, ...creds(bus))).code).toBe(0);
    const before = statSync(log).size;
    const answer = operate(door, id, "reject").catch(() => "no answer");
    // Without a pause: the master is to die right after the write.
    while (statSync(log).size === before) await new Promise(setImmediate);
    process.kill(daemon.program.pid, "SIGKILL");
    await answer;
  }
  await loseStore(bus);
  expect((await svc(bus, "bus", "restore", saved, ...creds(bus))).code).toBe(0);
  await using _ = await startMasterBinary(bus, [], env);
  expect(await stateOf(bus, id)).toBe("rejected");
});

test("a flipped bit costs one master one record, and the log of another one puts it back", async () => {
  await using bus = await startBus();
  const dirs = ["one", "two"].map((name) => join(bus.dir, name));
  const [one = "", two = ""] = dirs;
  const ids: string[] = [];
  {
    await using first = await startMasterBinary(bus, [], { SVC_DATA_DIR: one });
    await using _ = await startMasterBinary(bus, [], { SVC_DATA_DIR: two });
    for (const name of ["a1", "b1", "c1"]) {
      const { enrollmentId } = await submitPeel(doorOf(bus, first), name);
      expect((await operate(doorOf(bus, first), enrollmentId, "reject")).status).toBe(200);
      ids.push(enrollmentId);
    }
    expect((await svc(bus, "bus", "verify")).code).toBe(0);
  }
  const log = join(one, "decisions.log");
  const bytes = readFileSync(log);
  const at = bytes.lastIndexOf(Buffer.from(ids[1] ?? "")) + 3;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(log, bytes);
  await loseStore(bus);
  await using first = await startMasterBinary(bus, [], { SVC_DATA_DIR: one });
  const errors = logRecords(first.program).filter(({ level }) => level === "error");
  expect(errors.map(({ msg }) => msg)).toContain(
    "parts of the log of decisions are damaged: their records are read again from the bus",
  );
  expect(readdirSync(one).some((name) => name.startsWith("decisions.log.damaged-"))).toBe(true);
  await using _ = await startMasterBinary(bus, [], { SVC_DATA_DIR: two });
  for (const id of ids) expect(await stateOf(bus, id)).toBe("rejected");
  expect((await svc(bus, "bus", "verify")).code).toBe(0);
});

test("while its disk is full a master answers no decision, and recovers when there is room", async () => {
  await using bus = await startBus();
  const dir = join(bus.dir, "full");
  // A file system of its own, which only this master sees.
  const script = 'mkdir -p "$0" && mount -t tmpfs -o size=64k,mode=700 tmpfs "$0" && exec "$@"';
  const within = ["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script, dir];
  await using daemon = await startMasterBinary(bus, [], { SVC_DATA_DIR: dir }, within);
  const door = doorOf(bus, daemon);
  const { enrollmentId } = await submitPeel(door, "web-1");
  const seen = join(`/proc/${daemon.program.pid}/root`, dir);
  const filler = join(seen, "filler");
  expect(() => writeFileSync(filler, Buffer.alloc(1024 * 1024))).toThrow("ENOSPC");
  // What is left of the last block of the log takes some decisions.
  const accepted: string[] = [];
  let refused: { status: number } | undefined;
  for (let n = 0; refused === undefined; n++) {
    const { enrollmentId: next } = await submitPeel(door, `more-${n}`).catch(() => ({ enrollmentId }));
    const answer = await operate(door, next, "reject");
    if (answer.status === 200) accepted.push(next);
    else refused = answer;
  }
  expect(refused.status).toBe(503);
  await readinessBecomes(daemon.healthUrl, 503);
  const logged = () =>
    readDecisionFile(join(seen, "decisions.log")).decisions.flatMap(({ value, ...rest }) => {
      const record = value === undefined ? undefined : enrollmentOf({ ...rest, value });
      return record?.state === "rejected" ? [record.id] : [];
    });
  expect(logged()).toEqual(expect.arrayContaining(accepted));
  unlinkSync(filler);
  const { enrollmentId: after } = await submitPeel(door, "after");
  expect((await operate(door, after, "reject")).status).toBe(200);
  expect(logged()).toContain(after);
  expect((await svc(bus, "bus", "verify")).code).toBe(0);
});
