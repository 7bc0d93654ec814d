import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../internal/base/clock.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { connectBus } from "../../internal/bus/connection/connect.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { encodeJwt, readClaims } from "../../internal/identity/jwt.ts";
import { keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import { parseSuccession, signSuccession } from "../../internal/identity/succession/statement.ts";
import { encodeCall } from "../../internal/wire/call.ts";
import { signCommand } from "../../internal/wire/command.ts";
import { send } from "../harness/client.ts";
import { type FleetDirectory, fleetDirectory, startMasterOf } from "../harness/fleet-directory.ts";
import { freePorts } from "../harness/free-ports.ts";
import { recordingLog } from "../harness/log.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { operate } from "../harness/peel-connection.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// A stolen master, with its bus, its keys and its certificate, that runs beside the fleet which succeeded it: at its
// own address, and at that of the successor.

setDefaultTimeout(60_000);

/** A minute in three seconds. */
const fast: Clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * 20,
  after: (ms, run) => systemClock.after(ms / 20, run),
  every: (ms, run) => systemClock.every(ms / 20, run),
};
const files = temporaryDirectory("succession-thief");
const at = (...parts: string[]) => join(files.path, ...parts);
const data = at("peel");
const auth = (name: string) => join(data, "auth", name);
const read = (path: string) => readFileSync(path, "utf8");
let ports: Record<"old" | "next", { bus: number; api: number }>;
let old: FleetDirectory;
let next: FleetDirectory;
let enrollmentId: string;
let urls: string;

/** With the configuration of the fleet that was stolen, and an address where its successor will be. */
const start = () => {
  // Each start may ask for a statement at once.
  rmSync(auth("succession-asked"), { force: true });
  const flags = ["--config", join(old.dir, "peel.yaml"), "--id", "web-1", "--master-urls", urls];
  return startPeel(data, flags, { clock: fast });
};
const said = (peel: TestPeel, event: string) =>
  peel.log.records.filter((record) => record.event === event).map(({ fields }) => fields);

/** Everything that this peel trusts, and its credentials. */
const trust = () =>
  ["enroll-ca.crt", "bus-ca.crt", "web-1.command-keys", "recovery-keys", "succession.json"].map((name) =>
    read(auth(name)),
  );
const issuerOf = (credentials: string) => readClaims(parseCredentials(credentials).jwt).iss;
const seedOf = (fleet: FleetDirectory, name: string) => read(join(fleet.dir, "auth", name)).trim();

async function obeys(fleet: FleetDirectory) {
  const ran = await fleet.svc("run", "web-1", "test.ping", "--output", "json");
  expect([ran.exit, ran.stderr]).toEqual([0, expect.stringContaining("1 peel: 1 ok")]);
}
/** The old master never sees this peel again. */
async function isLostTo(fleet: FleetDirectory) {
  const ran = await fleet.svc("run", "web-1", "test.ping", "--timeout", "1s", "--output", "json");
  expect([ran.exit === 0, JSON.parse(ran.stdout).counts.ok]).toEqual([false, undefined]);
  const shown = await fleet.svc("enroll", "show", enrollmentId, "--output", "json");
  expect(JSON.parse(shown.stdout)).not.toHaveProperty("recovered_at");
}

/** The stolen fleet at the addresses of its successor, with a statement of its own or one that it copied. */
function thiefAt(statement: string): { dir: string } {
  const dir = at("thief");
  rmSync(dir, { recursive: true, force: true });
  cpSync(old.dir, dir, { recursive: true, filter: (path) => !path.includes("jetstream") });
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" })) {
    if (!/\.(ya?ml|conf)$/.test(name)) continue;
    const text = read(join(dir, name))
      .replaceAll(`${ports.old.bus}`, `${ports.next.bus}`)
      .replaceAll(`${ports.old.api}`, `${ports.next.api}`)
      .replaceAll(old.dir, dir);
    writeFileSync(join(dir, name), text);
  }
  writeFileSync(join(dir, "auth", "succession.json"), statement);
  return { dir };
}

beforeAll(async () => {
  const [first = 0, second = 0, third = 0, fourth = 0] = await freePorts(4);
  ports = { old: { bus: first, api: second }, next: { bus: third, api: fourth } };
  urls = `https://localhost:${second},https://localhost:${fourth}`;
  old = await fleetDirectory(at("old"), ports.old);
  cpSync(join(old.dir, "peel"), data, { recursive: true });
  {
    await using _ = await startMasterOf(old);
    await using peel = start();
    const pending = await peel.log.logged("enrollment pending: waiting for an operator's approval");
    enrollmentId = String(pending.fields.enrollment_id);
    expect((await operate(old, enrollmentId, "approve")).status).toBe(200);
    await peel.ready;
    const saved = await old.svc(
      ...["bus", "backup", join(old.dir, "backup"), "--creds", join(old.dir, "auth", "master.creds")],
    );
    expect(saved.exit).toBe(0);
  }
  const copy = at("copy");
  cpSync(old.dir, copy, { recursive: true });
  // The thief does not have it.
  rmSync(join(old.dir, "auth", "recovery.seed"));
  const seed = join(copy, "auth", "recovery.seed");
  const words = ["fleet", "succeed", at("next"), "--from", copy, "--recovery-seed", seed];
  next = await fleetDirectory(at("next"), ports.next, words);
  await using _ = await startMasterOf(next);
  await using peel = start();
  await peel.log.logged("this peel joins the fleet that succeeds its own");
  await peel.ready;
}, 120_000);
afterAll(() => files[Symbol.dispose]());

test("beside its successor the stolen master gets no peel back, not even while the successor is away", async () => {
  await using _ = await startMasterOf(old);
  const before = trust();
  await using peel = start();
  {
    await using _successor = await startMasterOf(next);
    await peel.ready;
    await obeys(next);
    await isLostTo(old);
  }
  // The successor is away, and the stolen master is at an address of peel.yaml.
  const requested = await peel.log.logged("no statement of succession");
  expect(requested.fields.url).toBe(next.url);
  await isLostTo(old);
  await using _again = await startMasterOf(next);
  await peel.log.logged("bus reconnected");
  await obeys(next);
  await isLostTo(old);
  expect(trust()).toEqual(before);
});

test("a peel that meets the stolen master first after a restart waits for its successor", async () => {
  await using _ = await startMasterOf(old);
  const before = trust();
  await using peel = start();
  const requested = await peel.log.logged("no statement of succession");
  expect(requested.fields.url).toBe(next.url);
  await isLostTo(old);
  expect(trust()).toEqual(before);
  await using _next = await startMasterOf(next);
  await peel.ready;
  await obeys(next);
});

test.each(["own", "copied"])(
  "at the address of its successor it is refused, with a statement that is %s",
  async (kind) => {
    const genuine = parseSuccession(JSON.parse(read(join(next.dir, "auth", "succession.json"))));
    const thiefKey = newKeyPair("user", systemRandom);
    const { signature: _s, key: _k, ...content } = genuine;
    const own = {
      ...content,
      ...{ serial: 2, ca_bundle_pem: old.ca, recovery_keys: [thiefKey.publicKey] },
      command_keys: [keyPairFromSeed("user", seedOf(old, "command.seed")).publicKey],
    };
    const statement = kind === "own" ? signSuccession(own, thiefKey) : genuine;
    const credentials = read(auth("web-1.creds"));
    const before = trust();
    const thief = thiefAt(JSON.stringify(statement));
    // Without credentials it has to ask for them: the stolen master would answer.
    if (kind === "own") rmSync(auth("web-1.creds"));
    await using stack = new AsyncDisposableStack();
    const stolen = stack.use(await startMasterOf(thief));
    await using peel = start();
    const served = await send(next.url, old.ca, { path: "/api/v1/enroll/succession" });
    expect([served.status, (served.json as { key: string }).key]).toEqual([200, statement.key]);
    const refused = await peel.log.logged("a statement of succession is refused");
    expect(refused.level).toBe("warn");
    expect(refused.fields.reason).toBe(
      kind === "own"
        ? `its key ${thiefKey.publicKey} is not a recovery key of this peel`
        : "its serial 1 is not greater than 1",
    );
    const [cannot] = said(peel, "a master cannot be used");
    expect(String(cannot?.reason)).toMatch(/is not trusted by the stored root/);
    const waits = await peel.log.logged(
      "no master satisfies this peel: waiting for a statement of succession",
    );
    expect(String(waits.fields.reason)).toMatch(/is not trusted by the stored root/);
    expect(said(peel, "peel connected")).toEqual([]);
    expect(said(peel, "credentials recovered")).toEqual([]);
    expect(trust()).toEqual(before);
    if (kind === "own") expect(existsSync(auth("web-1.creds"))).toBe(false);
    else expect(read(auth("web-1.creds"))).toBe(credentials);
    await stolen[Symbol.asyncDispose]();
    // The address is taken back, and nobody visits the host.
    await using _next = await startMasterOf(next);
    await peel.ready;
    await obeys(next);
    expect(issuerOf(read(auth("web-1.creds")))).toBe(
      keyPairFromSeed("account", seedOf(next, "account.seed")).publicKey,
    );
  },
);

test("even on the bus of the successor, old keys neither command this peel nor give it credentials", async () => {
  await using _ = await startMasterOf(next);
  await using peel = start();
  await peel.ready;
  const bus = await connectBus({
    urls: [`tls://localhost:${ports.next.bus}`],
    name: "thief",
    identity: { credentials: read(join(next.dir, "auth", "master.creds")) },
    ca: next.ca,
    clock: systemClock,
    log: recordingLog(),
  });
  try {
    const [mark, jid] = [at("mark"), newId("job", systemClock.now(), systemRandom)];
    const call = { function: "cmd.run", args: { command: `touch ${mark}` } };
    const deadline = systemClock.now() + 60_000;
    const command = { kind: "dispatch", jid, peel: "web-1", deadline, body: encodeCall(call) } as const;
    const stolen = keyPairFromSeed("user", seedOf(old, "command.seed"));
    bus.nats.publish(`svc.job.${jid}.dispatch.web-1`, signCommand(command, stolen));
    const refused = await peel.log.logged("command refused", (fields) => fields.jid === jid);
    expect(refused.level).toBe("warn");
    await obeys(next);
    expect(existsSync(mark)).toBe(false);

    // It answers before the masters do.
    const account = keyPairFromSeed("account", seedOf(old, "account.seed"));
    let answered = 0;
    bus.nats.subscribe("svc.peel.web-1.renew", {
      callback(_, message) {
        answered++;
        const { bus_public_key: subject } = decode(message.data) as { bus_public_key: string };
        const issuedAt = Math.floor(systemClock.now() / 1000);
        const user = { type: "user", name: "web-1", subject, issuedAt, expiresAt: issuedAt + 3600 } as const;
        const jwt = encodeJwt({ ...user, nats: { subs: -1, data: -1, payload: -1 } }, account);
        message.respond(encode({ ok: true, jwt, command_keys: [stolen.publicKey] }));
      },
    });
    await bus.nats.flush();
    const before = trust();
    await next.svc("run", "web-1", "identity.renew", "--output", "json");
    expect(answered).toBeGreaterThan(0);
    await obeys(next);
    expect(trust()).toEqual(before);
    const own = keyPairFromSeed("account", seedOf(next, "account.seed")).publicKey;
    expect(issuerOf(read(auth("web-1.creds")))).toBe(own);
  } finally {
    await bus.nats.close();
  }
  // The operators of the fleet see with the next heartbeat that someone tried.
  const refusing = async () =>
    JSON.parse((await next.svc("status", "--output", "json")).stdout).peels.refusing as Record<
      string,
      unknown
    >[];
  let seen = await refusing();
  while (seen.length === 0) seen = await refusing();
  expect(seen).toMatchObject([{ peel_id: "web-1", commands_refused: { unknown_key: 1 } }]);
});
