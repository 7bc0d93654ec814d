import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { sha256Hex } from "../../internal/base/sha256.ts";
import { type AssetName, assets } from "../../internal/bus/assets/assets.ts";
import { probeStorage } from "../../internal/bus/assets/storage-probe.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/connect.ts";
import { keySubject } from "../../internal/bus/subjects/subjects.ts";
import { uploadBinary } from "../../internal/cli/upgrade/upload.ts";
import { operatorOperations } from "../../internal/fleet/operators/mod.ts";
import { releaseOperations } from "../../internal/fleet/releases/mod.ts";
import { siteOperations } from "../../internal/fleet/sites/mod.ts";
import { encodeBinaryManifest } from "../../internal/host/binary/manifest.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { signRelease } from "../../internal/wire/release.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { ConsoleClient } from "../harness/console-client.ts";
import { metricBecomes, readinessBecomes } from "../harness/enrollee.ts";
import { recordingLog } from "../harness/log.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { newOperator, requestAs, signedBy } from "../harness/operators.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { operate } from "../harness/peel-connection.ts";
import { figuresBecome, rulesDirectory } from "../harness/reactor.ts";
import { listAdministrators, recordOf, signedRecord } from "../harness/registered.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// A whole run of a fleet, during which every value that is written to a bucket is kept: readers in any
// language need MessagePack alone.

setDefaultTimeout(150_000);

const rules = rulesDirectory(`
rules:
  - name: stormy
    match: storm/now
    do:
      - emit: { tag: storm/seen }
`);
const files = temporaryDirectory("stored-values");
const stored = (Object.keys(assets) as AssetName[]).filter((name) => assets[name].kind !== "objects");
/** Written values, by bucket or stream. */
const written = new Map(stored.map((name) => [name, [] as Uint8Array[]]));
const log = recordingLog();
const root = newOperator("root");
let bus: TestBus;
let fleet: Bus;
let operator: Bus;
let master: TestMaster;
let peel: TestPeel;

beforeAll(async () => {
  bus = await startBus();
  fleet = await connectTo(bus, "master");
  // Subscribed before anything runs, because a value may be replaced, expire, or be purged.
  for (const name of written.keys()) {
    for (const subject of subjectsOf(name)) {
      fleet.nats.subscribe(subject, {
        callback: (_, { data, headers }) => {
          if (headers?.has("KV-Operation") !== true) written.get(name)?.push(Uint8Array.from(data));
        },
      });
    }
  }
  await fleet.nats.flush();
  const [states, settings] = [join(files.path, "states"), join(files.path, "settings")];
  for (const directory of [states, settings]) makeDirectory(directory, 0o700);
  writeFileSync(join(states, "top.sls"), "base:\n  '*': [a]\n");
  writeFileSync(join(states, "a.sls"), "a: test.succeed_with_changes\n");
  writeFileSync(join(settings, "top.sls"), "base:\n  '*': [all]\n");
  writeFileSync(join(settings, "all.sls"), "motd: welcome\n");
  writeFileSync(
    join(files.path, "roles.yaml"),
    'roles: {deployer: {jobs: [{functions: [test.*], targets: "*", approvals: 1}]}}\n',
  );
  listAdministrators(bus.authDir, root);
  master = await startMaster(bus, {
    config: {
      roles_file: join(files.path, "roles.yaml"),
      reactor: { dir: rules.path, storm_rate: 1 },
      states_dir: states,
      settings_dir: settings,
    },
  });
  operator = await connectBus({
    urls: [bus.url],
    name: "test-operator",
    identity: { credentials: readFileSync(join(bus.authDir, "admin.creds"), "utf8") },
    ca: bus.caPem,
    clock: systemClock,
    log,
  });
}, 150_000);
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await operator?.nats.close();
  await fleet?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  rules[Symbol.dispose]();
  files[Symbol.dispose]();
});

async function rest(
  method: string,
  path: string,
  body?: unknown,
  token = testToken,
): Promise<Record<string, unknown>> {
  const reply = await send(master.url, master.ca, {
    method,
    path: `/api/v1${path}`,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    from: freshAddress(),
  });
  if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${reply.text}`);
  return reply.json as Record<string, unknown>;
}

function newPeel(id: string): TestPeel {
  const dataDir = join(files.path, id);
  makeDirectory(dataDir, 0o700);
  const schedule = { seen: { module: "test.ping", interval: "1s", run_on_start: true, return_job: true } };
  writeFileAtomic(join(dataDir, "peel.yaml"), JSON.stringify({ schedule }), secretMode);
  return startPeel(dataDir, [
    ...["--config", join(dataDir, "peel.yaml"), "--id", id, "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", master.url, "--enroll-ca", bus.caFile],
  ]);
}

function binaryOf(name: string) {
  const bytes = Buffer.from(name);
  const manifest = {
    sha256: sha256Hex(bytes),
    size: bytes.length,
    platform: "linux-x64" as const,
    version: "1.2.3",
    chunks: [sha256Hex(bytes)],
  };
  return {
    manifest,
    ...encodeBinaryManifest(manifest),
    chunk: async () => bytes,
    [Symbol.asyncDispose]: async () => {},
  };
}

test("a fleet runs: enrollment, settings, states, jobs, a schedule, a rollout, binaries, rules, a revocation", async () => {
  // As svc doctor --direct does.
  const direct = await connectTo(bus, "direct");
  await probeStorage(direct, "probe", "svc", 5_000);
  await direct.nats.close();
  peel = newPeel("web-1.example");
  const { fields } = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  const id = String(fields.enrollment_id);
  await operate(master, id, "approve");
  await peel.log.logged("peel connected");
  await metricBecomes(master.healthUrl, 'svc_enrollments{state="active"}', 1);
  // Without them no states are run.
  await peel.log.logged("settings in force");

  const jid = String(
    (await rest("POST", "/jobs", { target: "*", function: "state.highstate", timeout: "20s" })).jid,
  );
  await peel.log.logged("job done", (done) => done.jid === jid);
  await peel.log.logged("scheduled job done");
  // A peel reports a run of states after its return.
  await until(() =>
    (["compliance", "compliance-diffs"] as const).every((name) => (written.get(name) ?? []).length > 0),
  );
  const request = { target: "*", function: "cmd.run", args: { command: "sleep 30" } };
  const cancelled = String((await rest("POST", "/jobs", request)).jid);
  await rest("POST", `/jobs/${cancelled}/cancel`);

  const rollout = await rest("POST", "/rollouts", { ...request, waves: 1 });
  const manifests: string[] = [];
  for (let i = 0; i < 6; i++) {
    const binary = binaryOf(`binary ${i}`);
    manifests.push(binary.digest);
    await uploadBinary(operator, binary, () => {});
  }
  expect(new Set(manifests).size).toBe(6);
  await rest("POST", `/rollouts/${String(rollout.id)}/abort`, {});

  for (let sent = 0; sent < 3; sent++) {
    await rest("POST", "/jobs", {
      target: "*",
      function: "event.send",
      args: { tag: "storm/now" },
    });
  }
  await figuresBecome(
    [master],
    (sample) => (sample.get('svc_reactor_dropped_total{cause="breaker_open"}') ?? 0) > 0,
  );
  await rest("POST", "/tokens", { name: "ci", roles: ["viewer"] });
  await rest("DELETE", "/tokens/ci");
  await rest("POST", "/enroll-tokens", {});
  expect((await new ConsoleClient().signIn(master, { token: testToken })).status).toBe(201);
  const { publicKey } = newKeyPair("user", systemRandom);
  await rest("POST", "/enroll-expected", { hosts: [{ peel_id: "web-2.example", public_key: publicKey }] });
  const deployer = await rest("POST", "/tokens", { name: "cd", roles: ["deployer"] });
  const waiting = { function: "test.ping", target: "*" };
  expect(await rest("POST", "/jobs", waiting, String(deployer.token))).toMatchObject({ needs: 1 });
  await readinessBecomes(master.healthUrl, 200);
  // At the first look of a master for silent peels, and some seconds after the first heartbeat of the peel.
  await until(() =>
    (["presence", "instances"] as const).every((name) => (written.get(name) ?? []).length > 0),
  );
  // One a minute, the first as soon as a master holds its lease.
  await until(() => (written.get("samples") ?? []).length > 0);
  await operate(master, id, "suspend");
  await operate(master, id, "resume");
  await operate(master, id, "revoke");

  const anna = recordOf(newOperator("anna", ["viewer"]));
  const { subject } = operatorOperations.addOperator.bus;
  const add = signedBy(root, subject, encode({ record: signedRecord(anna, root) }));
  expect(decode(await requestAs(fleet, root, subject, add))).toMatchObject({ ok: true });
  const disabled = signedRecord({ ...anna, version: 2, disabled: true }, root);
  await rest("POST", "/operators/anna/disable", { record: disabled });

  await rest("POST", "/plans");
  const { fleet: account, environments } = (await rest("GET", "/states/releases")) as {
    fleet: string;
    environments: { content: { snapshot: string } }[];
  };
  const release = signRelease(
    {
      ...{ fleet: account, environment: "base", snapshot: environments[0]?.content.snapshot ?? "" },
      ...{ version: 1, releasedAt: systemClock.now(), operator: root.name, key: root.key.publicKey },
    },
    root.key,
  );
  const releasing = releaseOperations.releaseStates.bus.subject;
  const signedRelease = signedBy(root, releasing, encode({ release }));
  expect(decode(await requestAs(fleet, root, releasing, signedRelease))).toMatchObject({ ok: true });

  const userKey = () => newKeyPair("user", systemRandom).publicKey;
  const site = {
    site: "berlin",
    urls: ["tls://leaf.example.com:4222"],
    link_key: userKey(),
    system_key: userKey(),
  };
  const requested = signedBy(root, siteOperations.addSite.bus.subject, encode(site));
  const added = await requestAs(fleet, root, siteOperations.addSite.bus.subject, requested);
  expect(decode(added)).toMatchObject({ ok: true });
});

test.each(stored)("every value that was written to %s is MessagePack", (name) => {
  const values = written.get(name) ?? [];
  expect(values.length).toBeGreaterThan(0);
  const wrong = values.filter((value) => !isMessagePack(value));
  expect(wrong.map((value) => Buffer.from(value).toString("latin1"))).toEqual([]);
});

function subjectsOf(name: AssetName): readonly string[] {
  const asset = assets[name];
  return "subjects" in asset ? asset.subjects : [keySubject(name, ">")];
}

function isMessagePack(data: Uint8Array): boolean {
  try {
    decode(data);
    return true;
  } catch {
    return false;
  }
}
