import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { connect, credsAuthenticator, type NatsConnection, StringCodec } from "nats";
import { natsServerPath } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { lastStored } from "../../../test/harness/stored.ts";
import { systemClock as clock } from "../../base/clock.ts";
import { systemRandom as random } from "../../base/id.ts";
import { peelPermissions } from "../../fleet/enrollment/bus-user/permissions.ts";
import { createAuthority } from "../../identity/ca/create.ts";
import { issueCertificate } from "../../identity/ca/issue.ts";
import { loadAuthority } from "../../identity/ca/load.ts";
import { formatCredentials, parseCredentials } from "../../identity/credentials.ts";
import { encodeJwt, readClaims } from "../../identity/jwt.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair } from "../../identity/nkey.ts";
import { assets } from "../assets/assets.ts";
import { connectBus } from "../connection/connect.ts";
import { openBucket } from "../storage/bucket.ts";
import { crossings, importsOfPeels } from "./exports-imports.ts";
import { initNatsAuth } from "./init.ts";
import { lintCredentials } from "./lint.ts";
import { encodePeelsAccount } from "./peels-account.ts";

const natsServer = natsServerPath();
const base = mkdtempSync(join(tmpdir(), "svc-nats-auth-"));
const dir = join(base, "auth");
const listen = { host: "127.0.0.1", port: 4222 };
const options = { dir, operator: "svc", listen, hostname: "bus-1", clock, random };
const read = (name: string) => readFileSync(join(dir, name), "utf8");
const codec = StringCodec();
const peel = "web-1";

let rootPem: string;
let server: Bun.Subprocess<"ignore", "ignore", "pipe">;
let url: string;
const open: NatsConnection[] = [];

beforeAll(async () => {
  initNatsAuth(options);
  const ca = join(base, "ca");
  await createAuthority({ dir: ca, organization: "Test", rootValidityMs: 86_400_000, clock, random });
  const authority = await loadAuthority(ca);
  rootPem = authority.rootPem;
  const issued = await issueCertificate(authority, {
    commonName: "nats",
    names: ["127.0.0.1"],
    usage: "nats-server",
    validityMs: 3_600_000,
    clock,
    random,
  });
  writeFileSync(join(dir, "nats-server.crt"), issued.certPem);
  writeFileSync(join(dir, "nats-server.key"), issued.keyPem);
  ({ server, url } = await startServer(join(dir, "nats-server.conf")));
});

afterAll(async () => {
  for (const connection of open) await connection.close();
  server?.kill();
  await server?.exited;
  rmSync(base, { recursive: true, force: true });
});

/** Starts the server on a free port and returns when it says that it is ready. */
async function startServer(config: string) {
  const command = [natsServer, "-c", config, "-a", "127.0.0.1", "-p", "-1"];
  const started = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const ready = Promise.withResolvers<void>();
  let text = "";
  // Read to the end: a server whose log nobody reads ends itself.
  const reading = (async () => {
    for await (const chunk of started.stderr.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes("Server is ready")) ready.resolve();
    }
  })();
  await Promise.race([ready.promise, reading]);
  const port = /client connections on 127\.0\.0\.1:(\d+)/.exec(text)?.[1];
  if (port === undefined) {
    started.kill();
    throw new Error(`nats-server did not start:\n${text}`);
  }
  return { server: started, url: `tls://127.0.0.1:${port}` };
}

async function connectAs(credentials: string, inboxPrefix = "_INBOX"): Promise<NatsConnection> {
  const connection = await connect({
    servers: url,
    authenticator: credsAuthenticator(Buffer.from(credentials)),
    tls: { ca: rootPem },
    inboxPrefix,
    reconnect: false,
  });
  open.push(connection);
  return connection;
}

/** A peel's credentials, as a master mints them. */
function peelCredentials(id: string): { credentials: string; user: KeyPair } {
  const user = newKeyPair("user", random);
  const account = keyPairFromSeed("account", read("account.seed"));
  const { pub, sub } = peelPermissions(id);
  const issuedAt = Math.floor(clock.now() / 1000);
  const nats = { pub, sub, subs: -1, data: -1, payload: -1 };
  const jwt = encodeJwt({ type: "user", name: id, subject: user.publicKey, issuedAt, nats }, account);
  return { credentials: formatCredentials(jwt, user.seed), user };
}

const connectPeel = (id: string) => connectAs(peelCredentials(id).credentials, `_INBOX_${id}`);

/** The next permission violation the server reports to this connection, as the text after the colon. */
async function nextViolation(connection: NatsConnection): Promise<string> {
  for await (const status of connection.status()) {
    if (status.type === "error")
      return `${status.permissionContext?.operation} ${status.permissionContext?.subject}`;
  }
  throw new Error("the connection closed");
}

describe("the files", () => {
  const secrets = [
    ...["operator.seed", "operator-signing.seed", "account.seed", "masters.seed", "command.seed"],
    ...["system.creds", "master.creds", "admin.creds", "direct.creds", "nats-server.conf"],
    ...["recovery.seed", "masters-operators.seed", "settings.seed"],
  ];
  const others = ["operator.jwt", "account.jwt", "masters.jwt", "system.jwt", "recovery.pub"];

  test.each([0o000, 0o077])("have their modes under umask %o", (mask) => {
    const fresh = join(base, `modes-${mask}`);
    const before = process.umask(mask);
    try {
      initNatsAuth({ ...options, dir: fresh });
    } finally {
      process.umask(before);
    }
    expect(statSync(fresh).mode & 0o777).toBe(0o700);
    const modes = readdirSync(fresh).map((name) => [name, statSync(join(fresh, name)).mode & 0o777]);
    expect(Object.fromEntries(modes)).toEqual({
      ...Object.fromEntries(secrets.map((name) => [name, 0o600])),
      ...Object.fromEntries(others.map((name) => [name, 0o644])),
    });
  });

  test.each([...secrets, ...others])("%s is never overwritten, and nothing else is written", (name) => {
    const fresh = join(base, `taken-${name}`);
    mkdirSync(fresh);
    writeFileSync(join(fresh, name), "mine");
    expect(() => initNatsAuth({ ...options, dir: fresh })).toThrow(join(fresh, name));
    expect(readdirSync(fresh)).toEqual([name]);
    expect(readFileSync(join(fresh, name), "utf8")).toBe("mine");
  });

  test("the recovery key is a pair of its own, or the one that exists", () => {
    const { publicKey } = keyPairFromSeed("user", read("recovery.seed"));
    expect(read("recovery.pub")).toBe(`${publicKey}\n`);
    const fresh = join(base, "recovery-of-another");
    const names = initNatsAuth({ ...options, dir: fresh, recovery: publicKey }).map(({ path }) => path);
    expect(names).not.toContain(join(fresh, "recovery.seed"));
    expect(readFileSync(join(fresh, "recovery.pub"), "utf8")).toBe(`${publicKey}\n`);
  });

  test("the operator's own key signs nothing but its JWT", () => {
    const operator = readClaims(read("operator.jwt"));
    const signing = keyPairFromSeed("operator", read("operator-signing.seed")).publicKey;
    expect(operator.nats.signing_keys).toEqual([signing]);
    for (const name of ["account.jwt", "masters.jwt", "system.jwt"]) {
      expect(readClaims(read(name)).iss).toBe(signing);
    }
    expect(readClaims(parseCredentials(read("master.creds")).jwt).iss).toBe(
      readClaims(read("masters.jwt")).sub,
    );
  });

  test("a rebuilt account JWT differs in the revocations alone", () => {
    const first = readClaims(read("account.jwt"));
    const signer = keyPairFromSeed("operator", read("operator-signing.seed"));
    const masters = readClaims(read("masters.jwt")).sub;
    const revoked = { UABC: 1_700_000_000 };
    const again = readClaims(
      encodePeelsAccount({
        account: first.sub,
        masters,
        revocations: revoked,
        issuedAt: first.iat + 1,
        signer,
      }),
    );
    expect(again).toEqual({
      ...first,
      iat: first.iat + 1,
      jti: again.jti,
      nats: { ...first.nats, revocations: revoked },
    });
  });

  test("a path that a configuration cannot name is refused before anything is written", () => {
    expect(() => initNatsAuth({ ...options, dir: join(base, "a\nb") })).toThrow("control character");
    expect(readdirSync(base).filter((name) => name.startsWith("a"))).toEqual(["auth"]);
  });
});

describe("the wall", () => {
  test("lets through exactly the subjects that a peel may use", () => {
    const { pub, sub } = peelPermissions("*", "*");
    expect<readonly string[]>([...crossings.services].sort()).toEqual(pub.allow.sort());
    const inbox = "_INBOX_*.>";
    expect<readonly string[]>([...crossings.streams, inbox].sort()).toEqual(sub.allow.sort());
  });

  test("matches the exports of the masters' account and the imports of the peels' account", () => {
    const masters = readClaims(read("masters.jwt"));
    const listed = [
      ...crossings.services.map((subject) => ({ subject, type: "service" })),
      ...crossings.streams.map((subject) => ({ subject, type: "stream" })),
    ];
    const relays = crossings.stored.map((subject) => ({ subject: `svc.relay.${subject}`, type: "service" }));
    const ofSites = crossings.services.map((subject) => ({
      subject: `svc.from.*.${subject}`,
      type: "service",
    }));
    const toSites = ["dispatch", "stop"].map((kind) => ({
      subject: `svc.to.*.svc.job.*.${kind}.*`,
      type: "stream",
    }));
    expect(masters.nats.exports).toMatchObject([...listed, ...relays, ...ofSites, ...toSites]);
    const imports = listed.map((crossing) => ({ ...crossing, account: masters.sub }));
    expect(readClaims(read("account.jwt")).nats.imports).toMatchObject(imports);
  });

  test("leads nothing into the storage past the masters where they relay it", () => {
    const imports = importsOfPeels("A", true).filter(({ type }) => type === "service");
    const subjects = imports.map(({ subject, local_subject: local = subject }) => [local, subject]);
    const writable = Object.entries(assets).flatMap(([name, asset]) => {
      if (!("peelsWrite" in asset)) return [];
      return "subjects" in asset ? [...asset.subjects] : [`$KV.${name}.*`];
    });
    expect([...crossings.stored].sort()).toEqual(writable.sort() as never);
    expect(subjects).toEqual(
      crossings.services.map((subject) => [
        subject,
        writable.includes(subject) ? `svc.relay.${subject}` : subject,
      ]),
    );
  });
});

describe("lint", () => {
  const credentialsOf = (size: number) =>
    formatCredentials("x".repeat(size), newKeyPair("user", random).seed);

  test("warns from 4097 bytes on, and about sizes that no setting allows", () => {
    expect(lintCredentials(credentialsOf(4096))).toEqual({ jwtBytes: 4096, warnings: [] });
    expect(lintCredentials(credentialsOf(4097)).warnings[0]).toContain("needs max_control_line: 16384");
    expect(lintCredentials(credentialsOf(16_385)).warnings[0]).toContain("fewer permissions");
  });

  test("finds nothing in the fresh credentials", () => {
    for (const name of ["master.creds", "system.creds", "admin.creds", "direct.creds"]) {
      expect(lintCredentials(read(name)).warnings).toEqual([]);
    }
    expect(() => lintCredentials("secret text")).toThrow(/^not a credentials file/);
  });
});

describe("a real bus", () => {
  test("accepts the configuration without a complaint", () => {
    const done = Bun.spawnSync([natsServer, "-t", "-c", join(dir, "nats-server.conf")]);
    expect(done.stderr.toString()).toContain("configuration file");
    expect(done.exitCode).toBe(0);
  });

  test("speaks TLS 1.3 and nothing older", async () => {
    const protocol = (maxVersion: "TLSv1.2" | "TLSv1.3") =>
      new Promise<string>((done) => {
        const { hostname, port } = new URL(url);
        const plain = connectTcp(Number(port), hostname);
        // The server greets in plaintext before the handshake.
        plain.once("data", () => {
          const secure = connectTls({ socket: plain, ca: rootPem, host: hostname, maxVersion });
          secure.once("secureConnect", () => {
            done(String(secure.getProtocol()));
            secure.destroy();
          });
          secure.once("error", () => done("refused"));
        });
      });
    expect(await protocol("TLSv1.3")).toBe("TLSv1.3");
    expect(await protocol("TLSv1.2")).toBe("refused");
  });

  test("gives storage to masters, and only the imports to peels", async () => {
    const master = await connectAs(read("master.creds"));
    const bucket = await master.jetstream().views.kv("peel-heartbeat");
    const secrets = await master.jetstream().views.kv("secrets");
    const node = await connectPeel(peel);

    const ack = await node.request(`$KV.peel-heartbeat.${peel}`, codec.encode("alive"));
    expect(JSON.parse(codec.decode(ack.data))).toMatchObject({ stream: "KV_peel-heartbeat", seq: 1 });
    expect((await bucket.get(peel))?.string()).toBe("alive");

    const received = node.subscribe("$KV.secrets._cluster_info", { max: 1 });
    await node.flush();
    await secrets.put("_cluster_info", codec.encode("urls"));
    for await (const message of received) expect(message.string()).toBe("urls");

    // The server answers on the reply subject whatever the peel may publish to; the wall stops it there.
    node.publish(`$KV.peel-heartbeat.${peel}`, codec.encode("x"), { reply: "$KV.secrets._cluster_info" });
    await node.request(`$KV.peel-heartbeat.${peel}`, codec.encode("alive"));
    expect((await secrets.get("_cluster_info"))?.string()).toBe("urls");

    const dispatched = node.subscribe(`svc.job.*.dispatch.${peel}`, { max: 1 });
    await node.flush();
    master.publish(`svc.job.job-1.dispatch.${peel}`, codec.encode("run"));
    for await (const message of dispatched) expect(message.string()).toBe("run");

    const requested = master.subscribe("svc.peel.*.hello", {
      callback: (_, message) => message.respond(message.data),
    });
    await master.flush();
    const answer = await node.request(`svc.peel.${peel}.hello`, codec.encode("hello"));
    expect(codec.decode(answer.data)).toBe("hello");
    requested.unsubscribe();
  });

  test.each([
    ["publish", "$JS.API.INFO"],
    ["publish", "$JS.API.CONSUMER.CREATE.KV_secrets"],
    ["publish", "$KV.peel-heartbeat.other"],
    ["publish", "$KV.secrets._cluster_info"],
    ["subscription", "svc.job.*.dispatch.other"],
    ["subscription", "_INBOX_other.>"],
    ["subscription", ">"],
  ])("denies a peel to %s %s", async (operation, subject) => {
    const node = await connectPeel(peel);
    const violation = nextViolation(node);
    if (operation === "publish") node.publish(subject);
    else node.subscribe(subject, { callback: () => undefined });
    expect(await violation).toBe(`${operation} ${subject}`);
  });

  test("has no storage in the peels' account, whatever a user's JWT allows", async () => {
    const user = newKeyPair("user", random);
    const account = keyPairFromSeed("account", read("account.seed"));
    const jwt = encodeJwt(
      {
        type: "user",
        name: "wide",
        subject: user.publicKey,
        issuedAt: 1,
        nats: { subs: -1, data: -1, payload: -1 },
      },
      account,
    );
    const wide = await connectAs(formatCredentials(jwt, user.seed));
    const refused = await wide.jetstreamManager().catch((cause) => cause);
    expect(refused).toMatchObject({ name: "NatsError", code: "503" });
  });

  test("lets direct.creds read records and write decisions, and admin.creds ask masters, and no more", async () => {
    const log = recordingLog();
    const busAs = async (name: string) => {
      const identity = { credentials: read(name) };
      const bus = await connectBus({ urls: [url], name, identity, ca: rootPem, clock, log });
      open.push(bus.nats);
      return bus;
    };
    const masterBus = await busAs("master.creds");
    const adminBus = await busAs("admin.creds");
    const [master, admin] = [masterBus.nats, adminBus.nats];
    const directBus = await busAs("direct.creds");
    for (const name of ["enrollments", "revocations", "jobs", "settings"]) {
      await (await master.jetstream().views.kv(name)).put("key", codec.encode(name));
    }
    const manager = await master.jetstreamManager();
    await manager.streams.add({ name: "job-events", subjects: ["svc.job.*.return.*"] });
    await master.request("svc.job.job-1.return.web-1", codec.encode("returned"));

    const enrollments = await openBucket(directBus, "enrollments");
    expect((await enrollments.entries()).map(({ key }) => key)).toEqual(["key"]);
    const revision = (await enrollments.get("key"))?.revision ?? 0;
    const written = await openBucket(directBus, "enrollments");
    expect(await written.update("key", codec.encode("new"), revision)).toBe(revision + 1);
    const seen = Promise.withResolvers<string>();
    const watch = enrollments.watch(({ value }) => seen.resolve(codec.decode(value ?? new Uint8Array())));
    expect(await seen.promise).toBe("new");
    await watch.caughtUp();
    watch.stop();
    expect(await (await openBucket(directBus, "revocations")).create("other", codec.encode("x"))).toBe(2);
    expect(await (await openBucket(directBus, "jobs")).get("key")).toMatchObject({ key: "key" });
    const returned = await lastStored(directBus, "job-events", "svc.job.job-1.return.web-1");
    expect(codec.decode(returned ?? new Uint8Array())).toBe("returned");
    expect(log.records).toEqual([]);

    const replied = master.subscribe("svc.job.request", {
      callback: (_, message) => message.respond(message.data),
    });
    await master.flush();
    expect(codec.decode((await admin.request("svc.job.request", codec.encode("go"))).data)).toBe("go");
    replied.unsubscribe();

    for (const subject of [
      "$JS.API.STREAM.INFO.KV_enrollments",
      "$KV.enrollments.key",
      "$KV.revocations.key",
      "$KV.jobs.key",
      "$KV.settings.key",
      "$JS.API.STREAM.DELETE.KV_enrollments",
      "$JS.API.STREAM.PURGE.KV_enrollments",
      "$JS.API.STREAM.MSG.GET.KV_settings",
      "svc.job.job-1.dispatch.web-1",
    ]) {
      const violation = nextViolation(admin);
      admin.publish(subject);
      expect(await violation).toBe(`publish ${subject}`);
    }
  });

  test("takes a revocation from the system user and closes the connection", async () => {
    const { credentials, user } = peelCredentials("web-2");
    const node = await connectAs(credentials, "_INBOX_web-2");
    const system = await connectAs(read("system.creds"));
    const issuedAt = readClaims(read("account.jwt")).iat + 10;
    const jwt = encodePeelsAccount({
      account: readClaims(read("account.jwt")).sub,
      masters: readClaims(read("masters.jwt")).sub,
      revocations: { [user.publicKey]: issuedAt },
      issuedAt,
      signer: keyPairFromSeed("operator", read("operator-signing.seed")),
    });
    const reply = await system.request("$SYS.REQ.CLAIMS.UPDATE", codec.encode(jwt));
    expect(JSON.parse(codec.decode(reply.data))).toMatchObject({ data: { code: 200 } });
    await node.closed();
    await expect(connectAs(credentials, "_INBOX_web-2")).rejects.toMatchObject({
      code: "AUTHORIZATION_VIOLATION",
    });
    await connectPeel("web-3");
  });
});
