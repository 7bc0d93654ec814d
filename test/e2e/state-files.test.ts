import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startSession } from "../../internal/agent/daemon/session.ts";
import { createSpread } from "../../internal/agent/link/spread.ts";
import { openStateFiles, type StateFiles } from "../../internal/agent/state-files/state-files.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { sha256Hex } from "../../internal/base/sha256.ts";
import { openBlobStore } from "../../internal/bus/storage/blob-store.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { publishStates } from "../../internal/master/state-files/publish-states.ts";
import { decodeCatalog, encodeCatalog } from "../../internal/tree/files/catalog.ts";
import { createHeadSeal } from "../../internal/tree/publication/head-seal.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { connectionOver } from "../harness/connection.ts";
import { fixedFacts } from "../harness/facts.ts";
import { makeRepository, type TestRepository } from "../harness/git.ts";
import { localIn } from "../harness/local.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import {
  connectPeel,
  type EnrolledPeel,
  enrollPeel,
  observedLog,
  type PeelConnection,
  refusals,
} from "../harness/peel-connection.ts";
import { fixedSettings } from "../harness/settings.ts";
import { until } from "../harness/until.ts";

// State files from a directory and a Git repository of a master to the cache of a peel, over a real bus.

let bus: TestBus;
let states = "";
let remote: TestRepository;
let pinned = "";
const masters: TestMaster[] = [];
let peel: EnrolledPeel;
let connection: PeelConnection;
let files: StateFiles;
const log = observedLog();
let stopPeel = async () => {};

beforeAll(async () => {
  bus = await startBus();
  states = join(bus.dir, "states");
  mkdirSync(states);
  remote = makeRepository(join(bus.dir, "git"));
  remote.commit("main", { "from-git.sls": "git 1", "top.sls": "of git" });
  remote.commit("dev", { "top.sls": "dev" });
  write("top.sls", "of the directory");
  masters.push(await startOne(), await startOne());
  peel = await enrollPeel(master(0), "web-1");
  connection = await connectPeel(bus, peel);
  const dataDir = join(bus.dir, "peel");
  mkdirSync(dataDir);
  files = openStateFiles({
    dir: join(dataDir, "states-cache"),
    peelId: "web-1",
    commandKeys: { current: peel.commandKeys },
    clock: systemClock,
    jitter: () => 0,
    log,
  });
  const local = localIn(dataDir, "web-1", log);
  const session = startSession({
    connection: connectionOver(connection.bus),
    peelId: "web-1",
    commandKeys: { current: peel.commandKeys },
    facts: fixedFacts({ id: "web-1" }),
    settings: fixedSettings(),
    stateFiles: files,
    onCluster: async () => {},
    local,
    clock: systemClock,
    random: systemRandom,
    spread: createSpread(() => 0),
    jitter: () => 0,
    log,
  });
  stopPeel = async () => {
    session.stop();
    await local.stop();
  };
}, 60_000);
afterAll(async () => {
  await stopPeel();
  await connection?.nats.close();
  for (const one of masters) await one[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

function startOne(): Promise<TestMaster> {
  return startMaster(bus, {
    flags: [
      ...["--states-dir", states, "--gitfs-remotes", remote.url, "--gitfs-interval", "1s"],
      // The files of this test are texts, and no states.
      ...["--gitfs-environments", "dev", "--states-check", "off"],
    ],
    env: { SVC_DATA_DIR: bus.dir },
  });
}

function master(index: number): TestMaster {
  const found = masters[index];
  if (found === undefined) throw new Error("no such master");
  return found;
}

/** Puts a file of the directory in place as a whole. */
function write(path: string, text: string): void {
  writeFileSync(join(bus.dir, "new-file"), text);
  renameSync(join(bus.dir, "new-file"), join(states, path));
}

async function readAll(environment?: string, commit?: string): Promise<Record<string, string>> {
  const source = await files.open(environment, { commit });
  const found: Record<string, string> = {};
  for (const path of source.list("")) found[path] = Buffer.from(await source.read(path)).toString();
  return found;
}

/** Reads what the masters have until it is this. */
async function filesBecome(wanted: Record<string, string>, environment?: string): Promise<void> {
  await until(
    () => readAll(environment).catch((thrown): unknown => String(thrown)),
    (found) => Bun.deepEquals(found, wanted),
  );
}

const fetchAs = async (peelId: string, request: unknown): Promise<Record<string, unknown>> => {
  const data = request instanceof Uint8Array ? request : encode(request);
  const reply = await connection.nats.request(`svc.peel.${peelId}.fetch`, data, { timeout: 30_000 });
  return decode(reply.data) as Record<string, unknown>;
};

test("directory and repository reach a peel, the directory first, other branches by their name", async () => {
  expect(await files.waitForFirstSync(new AbortController().signal)).toBe(true);
  await filesBecome({ "from-git.sls": "git 1", "top.sls": "of the directory" });
  await filesBecome({ "top.sls": "dev" }, "dev");
  const { origin } = await files.open();
  pinned = origin.commits[0]?.commit ?? "";
  expect(pinned).toBe(remote.git("rev-parse", "main"));
}, 90_000);

test("a change comes by itself: a hint, hello, and what changed", async () => {
  const before = new Set(log.records.map(({ fields }) => fields.manifest));
  write("top.sls", "changed");
  const { fields } = await log.logged("state files fetched", ({ manifest }) => !before.has(manifest));
  expect(fields.blobs).toBe(3);
  expect(fields.files).toBe(2);
  expect((await readAll())["top.sls"]).toBe("changed");
}, 90_000);

test("a push is fetched, and the commit of before is still to be had", async () => {
  remote.commit("main", { "from-git.sls": "git 2" });
  await filesBecome({ "from-git.sls": "git 2", "top.sls": "changed" });
  expect(await readAll("base", pinned.slice(0, 12))).toEqual({
    "from-git.sls": "git 1",
    "top.sls": "changed",
  });
  await expect(readAll("base", "0123456789")).rejects.toThrow("no commit");
}, 90_000);

test("a broken repository keeps the last good snapshot and shows in health", async () => {
  const holder = masters.find(({ records }) => records.some(acquired));
  renameSync(remote.path, `${remote.path}.away`);
  const check = async () => {
    const answer = await fetch(`${holder?.healthUrl}/readyz`);
    const { checks } = (await answer.json()) as { checks: { gitfs: { status: string; message?: string } } };
    return { code: answer.status, ...checks.gitfs };
  };
  const { code, message } = await until(check, ({ status }) => status === "degraded");
  expect(code).toBe(200);
  expect(message).toContain("git ls-remote failed");
  write("top.sls", "published all the same");
  await filesBecome({ "from-git.sls": "git 2", "top.sls": "published all the same" });
}, 90_000);

const acquired = ({ event, fields }: { event: string; fields: Record<string, unknown> }) =>
  event === "lease acquired" && fields.lease === "publisher";

test("when the holder goes another takes over, while the repository is still away", async () => {
  const at = masters.findIndex(({ records }) => records.some(acquired));
  await masters.splice(at, 1)[0]?.[Symbol.asyncDispose]();
  write("top.sls", "by the second");
  // It has the same copy of the repository as the first had.
  await filesBecome({ "from-git.sls": "git 2", "top.sls": "by the second" });
  expect(master(0).records.some(acquired)).toBe(true);
  renameSync(`${remote.path}.away`, remote.path);
}, 90_000);

test("a holder that was paused and goes on publishes nothing", async () => {
  const own = await connectTo(bus, "master");
  const store = openBlobStore(own, "states");
  const head = await store.head();
  const old = join(bus.dir, "old-states");
  mkdirSync(old);
  writeFileSync(join(old, "top.sls"), "stale");
  const records = observedLog();
  const end = new AbortController();
  // It still assumes its tenure, which ended when a holder with a larger token appeared.
  const publishing = publishStates({
    store,
    seal: createHeadSeal(
      keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8")),
      systemClock,
    ),
    statesDir: old,
    tenure: { token: (head?.token ?? 0) - 1, signal: end.signal },
    onReconnect: () => () => {},
    onSettings: () => () => {},
    onForeignHead: () => () => {},
    onKeyChange: () => () => {},
    onRelease: () => () => {},
    onPublished: () => {},
    named: async () => new Set(),
    maxEnvironments: 200,
    clock: systemClock,
    log: records,
  });
  const { fields } = await records.logged("state files not published");
  expect(fields.reason).toContain("another master has taken over publishing");
  end.abort(new Error("the test is over"));
  await publishing;
  expect(await store.head()).toEqual(head as never);
  await own.nats.close();
});

test("who changes the head on the bus is not believed, and the holder publishes anew", async () => {
  const wanted = await readAll();
  const own = await connectTo(bus, "master");
  const store = openBlobStore(own, "states");
  const head = await store.head();
  const genuine = decodeCatalog((await store.get(head?.digest ?? "")) ?? Buffer.of());
  // The tree of another branch as `base`: each blob of it is there.
  const forged = encodeCatalog({
    ...genuine,
    environments: new Map([...genuine.environments, ["base", genuine.environments.get("dev") ?? []]]),
  });
  await store.put(sha256Hex(forged), forged);
  const to = { digest: sha256Hex(forged), size: forged.length, token: 2 ** 40 };
  expect(await store.moveHead({ ...to, ...statementOf(head) }, head?.revision ?? 0)).toBeDefined();
  const late = systemClock.monotonic() + 15_000;
  for (let now = await store.head(); now?.digest === to.digest; now = await store.head()) {
    expect(await readAll()).toEqual(wanted);
    expect(systemClock.monotonic()).toBeLessThan(late);
  }
  expect(await readAll()).toEqual(wanted);
  const said = masters.flatMap(({ records }) => records.filter(({ level }) => level === "error"));
  expect(said.map(({ event }) => event)).toContain(
    "state files: the head was not published by a master and is not served",
  );
  await own.nats.close();
}, 90_000);

const statementOf = (head: { statement?: Uint8Array } | undefined) =>
  head?.statement === undefined ? {} : { statement: head.statement };

describe("the fetch door", () => {
  const some = sha256Hex(Buffer.from("git 2"));

  test("gives any state file by its digest, as many as fit, in the order of the request", async () => {
    expect(await fetchAs("web-1", { digests: [some] })).toEqual({ blobs: [Buffer.from("git 2")] });
    const unknown = "0".repeat(64);
    expect(await fetchAs("web-1", { digests: [some, unknown, some] })).toEqual({
      blobs: [Buffer.from("git 2")],
    });
    const failed = await fetchAs("web-1", { digests: [unknown] });
    expect(failed).toMatchObject({ ok: false, error: { code: "not_found" } });
  });

  test.each([
    ["a name instead of a digest", { digests: ["head"] }],
    ["a path", { digests: ["../../../etc/passwd"] }],
    ["a wildcard", { digests: ["*"] }],
    ["a digest with a subject behind it", { digests: [`${"0".repeat(64)}.>`] }],
    ["capital letters", { digests: ["A".repeat(64)] }],
    ["no digests", { digests: [] }],
    ["too many digests", { digests: Array.from({ length: 257 }, () => some) }],
    ["numbers", { digests: [7] }],
    ["an offset alone", { offset: 1e308 }],
    ["an environment that goes up", { environment: "../base" }],
    ["a commit that is none", { environment: "base", commit: "main" }],
    ["no map", 7],
    ["nothing", Buffer.of()],
    ["junk", Buffer.of(0xc1, 0xff)],
    ["too much", Buffer.alloc(64 * 1024)],
  ])("refuses %s with a reason, and goes on", async (_, request) => {
    const answer = await fetchAs("web-1", request);
    expect(answer).toMatchObject({ ok: false, error: { code: "bad_request" } });
    expect(await fetchAs("web-1", { digests: [some] })).toHaveProperty("blobs");
  });

  test("is a peel's own, and the store behind it nobody's", async () => {
    const foreign = [
      "svc.peel.web-2.fetch",
      "svc.peel.*.fetch",
      `$O.states.C.${some}`,
      "$O.states.M.aGVhZA==",
      "$JS.API.STREAM.MSG.GET.OBJ_states",
      "$JS.API.STREAM.MSG.DELETE.OBJ_states",
      "$JS.API.STREAM.PURGE.OBJ_states",
    ];
    for (const subject of foreign) {
      const refused = await refusals(connection, connection.records, () =>
        connection.nats.publish(subject, Buffer.from("{}")),
      );
      expect(refused).toEqual([subject]);
    }
    for (const subject of ["$O.states.>", "svc.peel.web-2.fetch", "svc.peel.web-1.fetch"]) {
      const refused = await refusals(connection, connection.records, () =>
        connection.nats.subscribe(subject),
      );
      expect(refused).toEqual([subject]);
    }
  });

  test("waits for its turn when a peel asks a lot, and refuses what is too much", async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => fetchAs("web-1", { digests: [some] })),
    );
    const refused = answers.filter(({ ok }) => ok === false);
    for (const answer of refused) expect(answer).toMatchObject({ error: { code: "rate_limited" } });
    expect(answers.length - refused.length).toBeGreaterThan(0);
    // What it may ask at a time is given back when its answers are on their way.
    await until(async () => (await fetchAs("web-1", { digests: [some] })).blobs !== undefined);
  });
});

test("without repositories there is no check of them", async () => {
  await using plain = await startMaster(bus, { flags: ["--gitfs-remotes", ""] });
  const { checks } = (await (await fetch(`${plain.healthUrl}/readyz`)).json()) as { checks: object };
  expect(Object.keys(checks)).not.toContain("gitfs");
});

test("while the bus is away the cache does, and afterwards it goes on", async () => {
  const wanted = { "from-git.sls": "git 2", "top.sls": "by the second" };
  await bus.stop("SIGKILL");
  await connection.logged("bus disconnected");
  expect(await readAll()).toEqual(wanted);
  expect(await readAll("dev")).toEqual({ "top.sls": "dev" });
  write("top.sls", "changed while the bus was away");
  await bus.start();
  await filesBecome({ ...wanted, "top.sls": "changed while the bus was away" });
}, 90_000);
