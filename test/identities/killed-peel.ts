import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readPendingKey } from "../../internal/agent/identity/pending-key.ts";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { describeError } from "../../internal/base/errors.ts";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { mapBounded } from "../../internal/base/map-bounded.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import { decodeRecord } from "../../internal/fleet/enrollment/record/record.ts";
import { formatCredentials, parseCredentials } from "../../internal/identity/credentials.ts";
import { encodeJwt, readClaims } from "../../internal/identity/jwt.ts";
import { keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { freshAddress, send } from "../harness/client.ts";
import { readRecords } from "../harness/log-records.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { startPeel } from "../harness/peel.ts";
import { type EnrolledPeel, enrollPeel } from "../harness/peel-connection.ts";
import { startProgram } from "../harness/process.ts";
import { onFullDisk } from "../harness/small-disk.ts";
import { bundle, stepped } from "../harness/steps/bundle.ts";
import { type Fault, faultEnvironment } from "../harness/steps/fault.ts";
import { notDurable, readSteps } from "../harness/steps/run.ts";
import { leftovers } from "./killed-commands.ts";

// A peel that renews, recovers or replaces what it is known by, ended at each of its steps on the disk: killed, or on
// a disk that is full from there on. Then an ordinary peel starts on what is left.

export interface Fleet {
  bus: TestBus;
  master: TestMaster;
  /** The records of the enrollments. */
  records: Pick<Bucket, "get">;
  /** The bundle of a peel. */
  program: readonly string[];
}

/** The peels of these tests ask from one address. */
const patient = {
  enroll: { networks: { test: { cidr: ["127.0.0.0/8"], capacity: 5_000, refill: "1s" } } },
};

/** A bus with a master, and the bundle of a peel. */
export async function openFleet(): Promise<AsyncDisposable & Fleet> {
  await using stack = new AsyncDisposableStack();
  const bus = stack.use(await startBus());
  const master = stack.use(await startMaster(bus, { config: patient }));
  const connection = await connectTo(bus, "master");
  stack.defer(() => connection.nats.close());
  const records = await openBucket(connection, "enrollments");
  const program = await bundle(stepped.peel, bus.dir);
  const opened = stack.move();
  return { bus, master, records, program, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const withinMs = 30_000;

/** Asks until the answer is as wanted. What is waited for crosses processes, the bus and files. */
async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = systemClock.monotonic() + withinMs;
  while (!(await isSo())) {
    if (systemClock.monotonic() > end) throw new Error(`not in time: ${what}`);
    await sleep(systemClock, 40);
  }
}

/** A host with the files of a peel that is a member. */
export interface Host {
  peel: EnrolledPeel;
  dataDir: string;
  at(name: string): string;
}

/** Enrolls a peel, and writes the files that it would have. */
async function enlist({ bus, master }: Fleet, peelId: string): Promise<Host> {
  const peel = await enrollPeel(master, peelId);
  const dataDir = join(bus.dir, `data-of-${peelId}`);
  const auth = join(dataDir, "auth");
  mkdirSync(auth, { recursive: true, mode: 0o700 });
  const at = (name: string) => join(auth, name);
  writeFileAtomic(at(`${peelId}.creds`), peel.credentials, secretMode);
  writeFileAtomic(at(`${peelId}.seed`), `${peel.seed}\n`, secretMode);
  writeFileAtomic(at(`${peelId}.enrollment`), `${peel.enrollmentId}\n`, secretMode);
  writeFileAtomic(at(`${peelId}.command-keys`), `${peel.commandKeys.join("\n")}\n`, secretMode);
  cpSync(bus.caFile, at("bus-ca.crt"));
  cpSync(bus.caFile, at("enroll-ca.crt"));
  cpSync(join(bus.authDir, "recovery.pub"), at("recovery-keys"));
  return { peel, dataDir, at: (name) => at(name.replace("ID", peelId)) };
}

/** What a peel does. */
export interface Change {
  name: "renewal" | "recovery" | "rekey";
  prepare(fleet: Fleet, host: Host): void;
  /** What makes a connected peel begin. */
  request?(fleet: Fleet, host: Host): Promise<unknown>;
  /** Whether the peel has done the last step. */
  isDone(host: Host, steps: readonly string[]): boolean;
}

const wasReplaced = ({ at, peel }: Host) => {
  const now = readFileSync(at("ID.creds"), "utf8");
  return (
    now !== peel.credentials &&
    parseCredentials(now).key.publicKey !== parseCredentials(peel.credentials).key.publicKey
  );
};

export const changes: Change[] = [
  {
    name: "renewal",
    prepare({ bus }, { at, peel }) {
      // Most of its lifetime is over.
      const { jwt, key } = parseCredentials(peel.credentials);
      const { sub, name, nats } = readClaims(jwt);
      const account = keyPairFromSeed("account", readFileSync(join(bus.authDir, "account.seed"), "utf8"));
      const day = 24 * 3600;
      const now = Math.floor(systemClock.now() / 1000);
      const claims = { type: "user", name, subject: sub, nats } as const;
      const late = encodeJwt({ ...claims, issuedAt: now - 100 * day, expiresAt: now + 20 * day }, account);
      writeFileAtomic(at("ID.creds"), formatCredentials(late, key.seed), secretMode);
    },
    isDone: (host) => wasReplaced(host) && !existsSync(host.at("ID.next-seed")),
  },
  {
    name: "recovery",
    prepare(_, { at }) {
      for (const name of ["ID.creds", "ID.enrollment", "recovery-keys"]) rmSync(at(name));
    },
    isDone: ({ at }) =>
      existsSync(at("ID.creds")) && existsSync(at("recovery-keys")) && !existsSync(at("ID.next-seed")),
  },
  {
    name: "rekey",
    prepare() {},
    request: ({ master }, { peel }) =>
      send(master.url, master.ca, {
        ...{ method: "POST", path: "/api/v1/jobs", from: freshAddress() },
        headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
        body: JSON.stringify({ targets: [peel.peelId], function: "identity.rekey", args: {} }),
      }),
    isDone: (host, steps) =>
      wasReplaced(host) &&
      !existsSync(host.at("ID.next-seed")) &&
      steps.some((step) => /^unlink .*\.old-seed#/.test(step)),
  },
];

const flagsOf = ({ bus, master }: Fleet, { peel }: Host) => [
  ...["--id", peel.peelId, "--bus-url", bus.url, "--master-url", master.url, "--health-addr", "127.0.0.1:0"],
];

/** Runs the bundled peel until it has done what it does, or is killed. */
async function runChange(
  fleet: Fleet,
  host: Host,
  change: Change,
  fault?: Fault,
): Promise<{ steps: string[]; output: string }> {
  const list = join(fleet.bus.dir, `steps-${Bun.randomUUIDv7()}`);
  writeFileSync(list, "");
  const stepping = { below: host.dataDir, list, ...(fault === undefined ? {} : { fault }) };
  await using program = startProgram([...fleet.program, ...flagsOf(fleet, host)], {
    env: { SVC_DATA_DIR: host.dataDir, ...faultEnvironment(stepping) },
  });
  let ended = false;
  void program.exited.then(() => {
    ended = true;
  });
  const isFull = () =>
    fault?.how === "full" && readSteps(list).includes(fault.step) && /no space left/.test(program.output());
  const isOver = () => ended || isFull();
  if (change.request !== undefined) {
    await until("the peel connects", () => isOver() || program.output().includes("peel connected"));
    if (!isOver()) await change.request(fleet, host);
  }
  await until(
    `the ${change.name} of ${host.peel.peelId}`,
    () => isOver() || change.isDone(host, readSteps(list)),
  );
  if (ended && fault?.how !== "kill") throw new Error(`it ended: ${program.output()}`);
  program.kill("SIGKILL");
  await program.exited;
  return { steps: readSteps(list), output: program.output() };
}

/** Fails unless an ordinary peel on these files connects, is known by what it holds, and takes work. */
async function mustConnect(fleet: Fleet, host: Host): Promise<void> {
  const { peel, at, dataDir } = host;
  const { records } = fleet;
  await using running = startPeel(dataDir, flagsOf(fleet, host));
  await Promise.race([running.ready, running.ended.then(() => Promise.reject(new Error("it ended")))]);
  const isSettled = async () => {
    const { sub } = readClaims(parseCredentials(readFileSync(at("ID.creds"), "utf8")).jwt);
    const { publicKey } = keyPairFromSeed("user", readFileSync(at("ID.seed"), "utf8"));
    // A next seed that was cut, or that the credentials have already, is replaced by the next renewal.
    const next = readPendingKey(at("ID.next-seed"));
    const isPending = next !== undefined && next !== "damaged" && next.publicKey !== sub;
    if (isPending || existsSync(at("ID.new-seed"))) return false;
    const entry = await records.get(peel.enrollmentId);
    if (entry === undefined) return false;
    const record = decodeRecord(entry.value);
    return record.publicKey === publicKey && record.busPublicKey === sub;
  };
  await until("files and record agree", isSettled);
  const { exit, stdout, stderr } = await cli(fleet.bus, "run", peel.peelId, "test.ping", "--timeout", "20s");
  if (exit !== 0 || !/ok +true/.test(stdout)) throw new Error(`it takes no work: ${stdout}${stderr}`);
  const left = leftovers(join(dataDir, "auth"));
  if (left.length > 0) throw new Error(`it left ${left.join(", ")}`);
}

/** Some steps need no room. Where one failed, the log names the file. */
function assertFullDisk(output: string, { dataDir }: Host): void {
  for (const line of output.split("\n").filter((each) => /ENOSPC|no space left/.test(each))) {
    if (!line.includes(dataDir)) throw new Error(line);
  }
}

/** Runs a change once for its steps, and then once for each that `picks` names. @returns what was wrong */
export async function runKilledPeel(
  fleet: Fleet,
  change: Change,
  how: Fault["how"],
  picks: (step: string) => boolean = () => true,
): Promise<{ steps: number; missed: string[]; wrong: string[] }> {
  const wrong: string[] = [];
  const missed: string[] = [];
  let count = 0;
  const fresh = async () => {
    const host = await enlist(fleet, `${change.name}-${how}-${++count}`);
    change.prepare(fleet, host);
    return host;
  };
  const first = await fresh();
  const { steps } = await runChange(fleet, first, change);
  const forgotten = notDurable(steps.filter((step) => /^\w+ auth\b/.test(step)));
  if (forgotten.length > 0) wrong.push(`not durable: ${forgotten.join(", ")}`);
  const picked = steps.filter(picks);
  await mapBounded(picked, { atOnce: 3 }, async (step) => {
    const host = await fresh();
    const own = step.replaceAll(first.peel.peelId, host.peel.peelId);
    const where = `${change.name}, ${how} at ${step}`;
    try {
      const ran = await runChange(fleet, host, change, { step: own, how });
      if (!ran.steps.includes(own)) missed.push(step);
      else if (how === "full") assertFullDisk(ran.output, host);
      await mustConnect(fleet, host);
    } catch (thrown) {
      wrong.push(`${where}: ${thrown instanceof Error ? thrown.message : thrown}`);
    }
    rmSync(host.dataDir, { recursive: true, force: true });
  });
  return { steps: picked.length, missed, wrong };
}

/** Files of a peel, as they are while it renews and changes its key, and what it holds of its fleet. */
const damageable = [
  ...[
    "ID.creds",
    "ID.seed",
    "ID.enrollment",
    "ID.command-keys",
    "ID.next-seed",
    "ID.new-seed",
    "ID.old-seed",
  ],
  ...["recovery-keys", "bus-ca.crt", "enroll-ca.crt", "succession.json", "succession-asked"],
];
/** What a peel cannot get again by itself. */
const irreplaceable = new Set(["ID.seed", "bus-ca.crt", "enroll-ca.crt", "succession.json"]);
const cuts = { empty: 0, "cut in half": 0.5 };

/** Cuts each file of a peel that `picks` names. @returns what was wrong */
export async function runCut(
  fleet: Fleet,
  picks: (file: string) => boolean = () => true,
): Promise<{ runs: number; wrong: string[] }> {
  const wrong: string[] = [];
  const all = damageable
    .filter(picks)
    .flatMap((file) => Object.entries(cuts).map(([how, part]) => ({ file, how, part })));
  await mapBounded([...all.entries()], { atOnce: 3 }, async ([number, { file, how, part }]) => {
    const host = await enlist(fleet, `cut-${number}-of-${all.length}`);
    const path = host.at(file);
    const whole = existsSync(path)
      ? readFileSync(path, "utf8")
      : `${newKeyPair("user", systemRandom).seed}\n`;
    writeFileAtomic(path, whole.slice(0, whole.length * part), secretMode);
    try {
      await (irreplaceable.has(file) ? mustSay(fleet, host, path) : mustConnect(fleet, host));
    } catch (thrown) {
      wrong.push(`${file}, ${how}: ${thrown instanceof Error ? thrown.message : thrown}`);
    }
    rmSync(host.dataDir, { recursive: true, force: true });
  });
  return { runs: all.length, wrong };
}

/** Fails unless a peel says which file is damaged and what to do, while it runs or as it ends. */
async function mustSay(fleet: Fleet, host: Host, path: string): Promise<void> {
  await using running = startPeel(host.dataDir, flagsOf(fleet, host));
  let said = "";
  running.ended.catch((thrown) => {
    said = describeError(thrown);
  });
  const toDo = /restore|delete|copy|set /;
  const isSaid = () =>
    (said.includes(path) && toDo.test(said)) ||
    running.log.records.some(
      ({ level, fields }) => level === "error" && fields.file === path && toDo.test(String(fields.next)),
    );
  await until(`it says what to do about ${path}`, isSaid);
}

/** A disk that is really full while credentials are due, and then has room. */
export async function renewOnFullDisk(fleet: Fleet): Promise<void> {
  const [renewal] = changes;
  const host = await enlist(fleet, "on-a-full-disk");
  renewal?.prepare(fleet, host);
  const { dataDir, peel, at } = host;
  const from = `${dataDir}-from`;
  cpSync(dataDir, from, { recursive: true });
  const list = join(fleet.bus.dir, "steps-of-the-full-disk");
  writeFileSync(list, "");
  const words = [...onFullDisk(dataDir, from), 'exec "$@"', "sh", ...fleet.program, ...flagsOf(fleet, host)];
  await using program = startProgram(words, {
    env: { SVC_DATA_DIR: dataDir, ...faultEnvironment({ below: dataDir, list }) },
  });
  await program.waitFor("credentials not renewed yet");
  const [record] = readRecords(program.output()).filter(({ msg }) => msg === "credentials not renewed yet");
  const reason = `cannot write ${at("ID.next-seed")}: no space left on the device`;
  if (record === undefined || !String(record.reason).startsWith(reason))
    throw new Error(`it says ${JSON.stringify(record)}`);
  const disk = `/proc/${program.pid}/root${dataDir}`;
  const credentials = (directory: string) =>
    readFileSync(join(directory, "auth", `${peel.peelId}.creds`), "utf8");
  if (credentials(disk) !== credentials(from)) throw new Error("the credentials changed");
  rmSync(join(disk, "filler"));
  const { exit, stdout, stderr } = await cli(
    fleet.bus,
    "run",
    peel.peelId,
    "identity.renew",
    "--timeout",
    "20s",
  );
  if (exit !== 0) throw new Error(`it does not renew: ${stdout}${stderr}`);
  if (credentials(disk) === credentials(from)) throw new Error("it has the same credentials");
}
