import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { publicMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import { fromOperatorSubject } from "../../internal/base/names/operator-subject.ts";
import { cleanEnvironment } from "../../internal/base/process/environment.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { readClaims } from "../../internal/identity/jwt.ts";
import { merkleTree } from "../../internal/identity/merkle/merkle.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { formatAdministrators } from "../../internal/wire/administrators.ts";
import { type Call, type Evidence, encodeCall } from "../../internal/wire/call.ts";
import { signCommand } from "../../internal/wire/command.ts";
import { encodeOperator, signOperator } from "../../internal/wire/operator-record.ts";
import { signRelease } from "../../internal/wire/release.ts";
import { openRequest } from "../../internal/wire/signed-request.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import {
  binaries,
  type Daemon,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
  svc,
} from "../harness/fleet.ts";
import { makeRepository } from "../harness/git.ts";
import {
  newOperator,
  requestAs,
  signedBy,
  type TestOperator,
  writeOperatorFile,
} from "../harness/operators.ts";
import { runProgram } from "../harness/process.ts";
import { operatorConfig } from "../harness/svc.ts";
import { until } from "../harness/until.ts";

// A thief of a master, who publishes what it likes under every name, and a peel that runs only state files whose digest
// an operator signed. Each attack has a control: the same with the files that were signed runs.

setDefaultTimeout(120_000);

const root = newOperator("root");
const ann = newOperator("ann", ["operator"]);
/** What ben runs needs another one. */
const ben = newOperator("ben", ["pair"]);
const roles = `roles:
  pair:
    jobs:
      - {functions: [state.apply], targets: "*", approvals: 1}
    approvals: [list, show, approve, deny]
`;

let bus: TestBus;
let master: MasterDaemon;
let peel: Daemon;
let thief: Bus;
let states = "";
let out = "";
const written = () => (existsSync(join(out, "web")) ? readFileSync(join(out, "web"), "utf8").trim() : "");
const publish = (text: string) =>
  writeFileAtomic(
    join(states, "web.sls"),
    `${join(out, "web")}:\n  file.managed:\n    - contents: ${text}\n`,
    publicMode,
  );

/** A checkout that has all that a snapshot leaves out, and its copy in a repository. */
function makeCheckout(url: string) {
  const git = (...args: string[]) => {
    const author = ["-c", "user.name=t", "-c", "user.email=t@test", "-c", "protocol.file.allow=always"];
    const env = { ...cleanEnvironment(undefined), GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
    const ran = Bun.spawnSync(["git", ...author, ...args], { cwd: states, env });
    expect({ args, code: ran.exitCode, stderr: ran.stderr.toString() }).toMatchObject({ code: 0 });
    return ran.stdout.toString().trim();
  };
  writeFileSync(join(states, "top.sls"), "base:\n  '*': [web]\n");
  publish("good");
  mkdirSync(join(states, "ünïcode"));
  writeFileSync(join(states, "ünïcode/ärger.txt"), "");
  writeFileSync(join(states, "owner.sh"), "#!/bin/sh\n", { mode: 0o744 });
  writeFileSync(join(states, "others.sh"), "#!/bin/sh\n", { mode: 0o655 });
  // What a checkout would convert is published as it is stored.
  writeFileSync(join(states, ".gitattributes"), "*.txt text eol=lf\n");
  symlinkSync("web.sls", join(states, "link.sls"));
  writeFileSync(join(states, "large"), "");
  truncateSync(join(states, "large"), 64 * 1024 * 1024 + 1);
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "-m", "files");
  git("update-index", "--add", "--cacheinfo", `160000,${git("rev-parse", "HEAD")},module`);
  git("commit", "--quiet", "-m", "a submodule");
  git("push", "--quiet", url, "main:release/1");
}

beforeAll(async () => {
  bus = await startBus();
  writeFileAtomic(
    join(bus.authDir, "administrators"),
    formatAdministrators([{ name: root.name, publicKey: root.key.publicKey }]),
    publicMode,
  );
  const rolesFile = join(bus.dir, "roles.yaml");
  writeFileAtomic(rolesFile, roles, publicMode);
  [states, out] = [join(bus.dir, "states"), join(bus.dir, "out")];
  for (const dir of [states, out]) mkdirSync(dir);
  const remote = makeRepository(join(bus.dir, "git"));
  makeCheckout(remote.url);
  master = await startMasterBinary(bus, [
    ...["--states-dir", states, "--gitfs-remotes", remote.url, "--gitfs-interval", "1s"],
    ...["--gitfs-environments", "release/*", "--roles-file", rolesFile],
  ]);
  thief = await connectTo(bus, "master");
  for (const { name, key, roles: own } of [ann, ben]) {
    const record = signOperator(
      {
        ...{ name, publicKey: key.publicKey, roles: own },
        ...{ createdAt: systemClock.now(), createdBy: root.name, version: 1 },
      },
      root.key,
    );
    await (await openBucket(thief, "operators")).put(name, encodeOperator(record));
  }
  peel = startPeelBinary(bus, master.url, "web-1", {
    config: JSON.stringify({
      ...{ require_operator: "on", automation_functions: ["test.*"] },
      operator_roles: { operator: ["*"], pair: ["state.apply"] },
    }),
  });
  await peel.program.waitFor("waiting for an operator's approval");
  const [{ id }] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  expect((await svc(bus, "enroll", "approve", id)).code).toBe(0);
  await peel.program.waitFor("peel connected");
  await peel.program.waitFor("settings in force");
});
afterAll(async () => {
  await thief?.nats.close();
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Sends what a master sends, with its key, and waits for the answer of the peel. */
async function command(call: Call, evidence?: Evidence) {
  const key = keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8"));
  const jid = newId("job", systemClock.now(), systemRandom);
  const returned = Promise.withResolvers<{ success: boolean; error?: string }>();
  const subscription = thief.nats.subscribe(`svc.job.${jid}.return.web-1`, {
    callback: (_, { data }) => returned.resolve(decode(data) as { success: boolean; error?: string }),
  });
  const body = encodeCall(call, undefined, evidence);
  const order = { kind: "dispatch", jid, deadline: systemClock.now() + 50_000, body } as const;
  thief.nats.publish(`svc.job.${jid}.dispatch.web-1`, signCommand({ ...order, peel: "web-1" }, key));
  const answer = await returned.promise;
  subscription.unsubscribe();
  return answer;
}

let version = 0;
/** The administrator releases these files of `base`: what a peel runs must be released, too. */
async function release(snapshot: string): Promise<void> {
  const { jwt } = parseCredentials(readFileSync(join(peel.dir, "auth", "web-1.creds"), "utf8"));
  const { nats, iss } = readClaims(jwt);
  const fleet = typeof nats.issuer_account === "string" ? nats.issuer_account : iss;
  const about = { fleet, environment: "base", snapshot, version: ++version };
  const bytes = signRelease({ ...about, releasedAt: systemClock.now(), operator: root.name }, root.key);
  const ping = { function: "test.ping", args: {}, release: { bytes, records: [] } };
  expect(await command(ping)).toMatchObject({ success: true });
}

const as = (who: TestOperator, ...args: string[]) =>
  runProgram([binaries.cli, "--config", operatorConfig(bus, writeOperatorFile(bus, who)), ...args]);
const rest = (path: string, body?: unknown) =>
  send(master.url, bus.caPem, {
    path,
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${master.token}`, "content-type": "application/json" },
  });
/** The digest of an environment, as a master resolves it for those who sign. */
async function snapshotOf(environment: string): Promise<string> {
  const query = new URLSearchParams({
    ...{ target: "*", function: "state.highstate" },
    args: JSON.stringify({ environment }),
  });
  const { json } = await rest(`/api/v1/targets?${query}`);
  return String((json as { snapshot?: string }).snapshot ?? "");
}
/** Publishes this text, and waits for it. @returns the digests before and after */
async function swap(text: string): Promise<[before: string, after: string]> {
  const before = await snapshotOf("base");
  publish(text);
  return [
    before,
    await until(
      () => snapshotOf("base"),
      (now) => now !== "" && now !== before,
    ),
  ];
}

test("equal files are one snapshot, whether a directory has them or a repository", async () => {
  const fromGit = await until(
    () => snapshotOf("release/1"),
    (found) => found !== "",
  );
  expect(fromGit).toMatch(/^[0-9a-f]{64}$/);
  expect(await snapshotOf("base")).toBe(fromGit);
  const log = master.program.output();
  for (const left of [
    "link.sls: a symbolic link: put the file itself there; not published",
    "large: larger than 64 MiB; not published",
  ]) {
    expect(log).toContain(left);
  }
  expect(log).toContain("module");
});

test("what an operator asks for with svc runs: a job, and a rollout with its check", async () => {
  await release(await snapshotOf("base"));
  expect(await as(ann, "run", "web-1", "state.apply", "web")).toMatchObject({ code: 0 });
  expect(written()).toBe("good");
  const rollout = ["rollout", "start", "web-1", "state.apply", "web", "--canary", "1", "--timeout", "30s"];
  expect(await as(ann, ...rollout, "--check", "state.show_top")).toMatchObject({ code: 0 });
  // The check alone uses files.
  const ping = ["rollout", "start", "web-1", "test.ping", "--canary", "1", "--check", "state.show_top"];
  expect(await as(ann, ...ping)).toMatchObject({ code: 0 });
});

describe("a thief of a master", () => {
  const evidenceOf = async (request: Uint8Array): Promise<Evidence> => {
    const record = (await (await openBucket(thief, "operators")).get("ann"))?.value ?? new Uint8Array();
    return { request, proof: [], records: [record] };
  };
  const commandFor = async (call: Call, request: Uint8Array) => command(call, await evidenceOf(request));
  const apply = { function: "state.apply", args: { mods: ["web"] } };
  const signed = (more: Record<string, Plain>) =>
    signedBy(
      ann,
      "svc.job.request",
      encode({
        targets: ["web-1"],
        ...apply,
        timeout: "50s",
        targets_digest: merkleTree(["web-1"]).root,
        ...more,
      }),
    );
  const content = (environment: string, snapshot: string) => ({ environment, commit: "local", snapshot });
  const notRun = (why: string) => ({ success: false, error: expect.stringContaining(why) });

  test("cannot run files that were swapped after an operator signed", async () => {
    const before = written();
    const [meant, stolen] = await swap("stolen");
    const request = signed({ snapshot: Buffer.from(meant, "hex") });
    const [short, other] = [meant.slice(0, 12), stolen.slice(0, 12)];
    expect(await commandFor({ ...apply, content: content("base", stolen) }, request)).toMatchObject(
      notRun(`ann signed the state files ${short}, and the command has ${other}`),
    );
    expect(await commandFor(apply, request)).toMatchObject(
      notRun("does not name the state files that ann signed"),
    );
    expect(await commandFor({ ...apply, content: content("release/1", meant) }, request)).toMatchObject(
      notRun("ann signed state files of base, and the command has those of release/1"),
    );
    expect(await commandFor({ ...apply, content: content("base", stolen) }, signed({}))).toMatchObject(
      notRun("ann did not sign which state files state.apply uses"),
    );
    expect(written()).toBe(before);
    // What was signed runs, or nothing does: the peel finds files by their digest.
    const honest = await commandFor({ ...apply, content: content("base", meant) }, request);
    if (!honest.success)
      expect(honest).toMatchObject(notRun(`the state files ${short} are no longer published`));
    expect(written()).toBe(before);
    await release(stolen);
    const control = signed({ snapshot: Buffer.from(stolen, "hex") });
    expect(await commandFor({ ...apply, content: content("base", stolen) }, control)).toMatchObject({
      success: true,
    });
    expect(written()).toBe("stolen");
  });

  test("cannot swap the files of a request between the question and the agreement", async () => {
    const [, meant] = await swap("agreed");
    await release(meant);
    const waiting = await as(ben, "run", "web-1", "state.apply", "web", "--timeout", "50s");
    expect(waiting).toMatchObject({ code: 0, stderr: "" });
    const id = /apr-\w+/.exec(waiting.stdout)?.[0] ?? "";
    const [agreed] = await swap("swapped");
    const approved = await as(ann, "approval", "approve", id);
    expect(approved).toMatchObject({ code: 0, stdout: expect.stringContaining("it was started") });
    expect(approved.stderr).toContain(`with state files ${agreed.slice(0, 12)}`);
    await until(written, (text) => text === "agreed");
  });
});

describe("a request for other files than those in force", () => {
  test("is a conflict over REST and over the bus, and so is one for other peels", async () => {
    const snapshot = "00".repeat(32);
    const job = { targets: ["web-1"], function: "state.apply", args: { mods: ["web"] } };
    expect(await rest("/api/v1/jobs", { ...job, snapshot })).toMatchObject({
      status: 409,
      json: { error: expect.stringContaining("not 000000000000: nothing was started; ask again") },
    });
    const digest = Buffer.from(snapshot, "hex");
    for (const wrong of [{ snapshot: digest }, { targets_digest: digest }]) {
      const request = signedBy(ann, "svc.job.request", encode({ ...job, ...wrong }));
      expect(decode(await requestAs(thief, ann, "svc.job.request", request))).toMatchObject({
        ok: false,
        error: { code: "conflict" },
      });
    }
  });
});

describe("svc", () => {
  let other: TestBus;
  let answers: Bus;
  beforeAll(async () => {
    other = await startBus();
    answers = await connectTo(other, "master");
  });
  afterAll(async () => {
    await answers?.nats.close();
    await other?.[Symbol.asyncDispose]();
  });

  /** Answers a subject until the end of the block, with what follows from the request. */
  async function answering(subject: string, answer: (fields: Record<string, Plain>) => Plain) {
    const serving = answers.nats.subscribe(fromOperatorSubject("*", subject), {
      callback: (_, message) =>
        void message.respond(encode(answer(decode(openRequest(message.data).body) as Record<string, Plain>))),
    });
    await answers.nats.flush();
    return { [Symbol.dispose]: () => serving.unsubscribe() };
  }
  const run = (...args: string[]) =>
    runProgram([
      ...[binaries.cli, "--config", operatorConfig(other, writeOperatorFile(other, ann))],
      ...["run", "web-1", "state.apply", "web", "--async", ...args],
    ]);
  const conflict = {
    ok: false,
    error: { code: "conflict", message: "the state files of base are others now" },
  };

  test("asks three times in all when files change each time, then says so in one line", async () => {
    let published = 0;
    const requested: Plain[] = [];
    using _resolving = await answering("svc.target.resolve", ({ function: name, args }) => {
      expect([name, args]).toEqual(["state.apply", { mods: ["web"] }]);
      const snapshot = Buffer.alloc(32, ++published);
      return { ok: true, total: 1, targets: [{ peel_id: "web-1", alive: true }], snapshot };
    });
    using _allowed = await answering("svc.admin.role.can", () => ({ ok: true, allowed: true, approvals: 0 }));
    using _starting = await answering("svc.job.request", ({ snapshot }) => {
      requested.push(Buffer.from(snapshot as Uint8Array).toString("hex"));
      return conflict;
    });
    const ran = await run();
    expect({ ...ran, stderr: ran.stderr.split("\n") }).toMatchObject({
      ...{ code: 1, stdout: "" },
      stderr: [expect.stringContaining("the state files of base are others now"), ""],
    });
    expect(requested).toEqual(["01", "02", "03"].map((byte) => byte.repeat(32)));
  });

  test("signs no digest for masters of the version before", async () => {
    const requested: Record<string, Plain>[] = [];
    using _resolving = await answering("svc.target.resolve", ({ function: name }) =>
      name === undefined
        ? { ok: true, total: 1, targets: [{ peel_id: "web-1", alive: true }] }
        : { ok: false, error: { code: "bad_request", message: 'unknown key "function"; known are target' } },
    );
    using _allowed = await answering("svc.admin.role.can", () => ({ ok: true, allowed: true, approvals: 0 }));
    using _starting = await answering("svc.job.request", (fields) => {
      requested.push(fields);
      return { ok: true, jid: "job-1", targets: ["web-1"], status: "running" };
    });
    expect(await run()).toMatchObject({ code: 0, stdout: "job-1\n" });
    expect(requested.map((fields) => fields.function)).toEqual(["state.apply"]);
    const digest = Buffer.from(requested[0]?.targets_digest as Uint8Array).toString("hex");
    expect(digest).toBe(Buffer.from(merkleTree(["web-1"]).root).toString("hex"));
    expect(requested[0]).not.toHaveProperty("snapshot");
  });
});
