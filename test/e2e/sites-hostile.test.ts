import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type NatsConnection } from "nats";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/mod.ts";
import { createSystemBus, type SystemBus } from "../../internal/bus/servers/mod.ts";
import { encodeJwt, newKeyPair, parseCredentials, readClaims } from "../../internal/identity/mod.ts";
import { natsServerPath } from "../harness/bus.ts";
import { freePorts } from "../harness/free-ports.ts";
import { recordingLog } from "../harness/log.ts";
import type { Program } from "../harness/process.ts";
import { letEnroll, type SiteFleet, startSiteFleet, untilSite } from "../harness/site-fleet.ts";
import { until } from "../harness/until.ts";

// The server of a site is stolen: its credentials are used by a server of the thief, who may send and hear anything
// there. docs/sites.md, "Security", says what that reaches.

let fleet: SiteFleet;
let master: Program;
let thief: Program;
/** The thief at the end of the link of the site, and at that of the link to the system account. */
let link: NatsConnection;
let system: NatsConnection;
let hub: SystemBus;
let observer: Bus;
let peels = "";

const connectAs = (credentials: string) =>
  connectBus({
    urls: [`tls://127.0.0.2:${fleet.hosts.ports.bus}`],
    tlsName: fleet.hosts.names[0] ?? "",
    name: "observer",
    identity: { credentials: readFileSync(join(fleet.dir, "auth", credentials), "utf8") },
    ca: readFileSync(join(fleet.dir, "bus/nats-ca.crt"), "utf8"),
    clock: systemClock,
    log: recordingLog(),
  });

const at = (name: string) => join(fleet.siteDir("berlin"), "bus", name);

beforeAll(async () => {
  fleet = await startSiteFleet(5);
  letEnroll(fleet);
  const first = await fleet.startMaster();
  const adding = fleet.hosts.start(1, fleet.addWords("berlin", 2));
  await adding.waitFor("systemctl restart svc-master");
  first.kill();
  await first.exited;
  master = await fleet.startMaster();
  const [port = 0] = await freePorts(1);
  const remote = (account: string, credentials: string) =>
    `{ urls: ["tls://${fleet.hosts.names[0]}:${fleet.sitePort}"], account: ${account}, credentials: "${at(credentials)}",
       tls { cert_file: "${at("nats-server.crt")}", key_file: "${at("nats-server.key")}", ca_file: "${at("nats-ca.crt")}" } }`;
  const config = join(fleet.hosts.dir, "thief.conf");
  // It takes the name of a server of the bus.
  writeFileSync(
    config,
    `server_name: ${fleet.hosts.names[0]}
listen: "127.0.0.3:${port}"
accounts { M { users: [{ user: m, password: m }] }, S { users: [{ user: s, password: s }] } }
leafnodes { reconnect: "1s", remotes: [ ${remote("M", "link.creds")}, ${remote("S", "system.creds")} ] }
`,
  );
  thief = fleet.hosts.start(2, [natsServerPath(), "-c", config]);
  await thief.waitFor("Server is ready");
  const as = (user: string) => connect({ servers: `127.0.0.3:${port}`, user, pass: user });
  link = await as("m");
  system = await as("s");
  await untilSite(fleet, "berlin", "up");
  observer = await connectAs("system.creds");
  hub = await createSystemBus(observer);
  peels = readClaims(readFileSync(join(fleet.dir, "auth/account.jwt"), "utf8")).sub;
}, 120_000);
afterAll(async () => {
  await link?.close();
  await system?.close();
  await fleet?.[Symbol.asyncDispose]();
}, 60_000);

/** What came on everything that can be heard there, while this ran. */
async function received(connection: NatsConnection, run: () => Promise<unknown>): Promise<Set<string>> {
  const found = new Set<string>();
  const patterns = [
    ">",
    "$KV.>",
    "$JS.>",
    "svc.>",
    "svc.admin.>",
    "svc.site.munich.>",
    "_INBOX.>",
    "$SYS.>",
    "_R_.>",
  ];
  const subscriptions = patterns.map((pattern) =>
    connection.subscribe(pattern, { callback: (_, { subject }) => found.add(subject) }),
  );
  await connection.flush();
  await run();
  await connection.flush();
  for (const one of subscriptions) one.unsubscribe();
  return found;
}

const answerTo = (connection: NatsConnection, subject: string, data = "") =>
  connection.request(subject, data, { timeout: 700 }).then(
    (message) => message.string(),
    () => undefined,
  );

test("it hears that something changed for a peel, commands for its own peels, and nothing else of the masters", async () => {
  await fleet.startPeel("web-1", 3);
  await fleet.startPeel("web-2", 4, { site: "munich" });
  await fleet.startPeel("web-3", 5, { site: "berlin" });
  const found = await received(link, async () => {
    const { code, stderr } = await fleet.svc("run", "web-*", "test.ping");
    expect([code, stderr]).toEqual([0, expect.anything()]);
    await fleet.svc("enroll", "list");
    await fleet.svc("status");
  });
  const others = [...found].filter(
    (subject) => !/^svc\.(?:job\.[^.]+\.dispatch\.web-3|peel\.[^.]+\.hint)$/.test(subject),
  );
  expect(others).toEqual([]);
  expect([...found].some((subject) => subject.endsWith(".dispatch.web-3"))).toBe(true);
}, 60_000);

describe("in whose name it speaks", () => {
  const stored = [
    "$KV.peel-heartbeat.PEEL",
    "$KV.facts.PEEL",
    "$KV.compliance.PEEL",
    "$KV.compliance-diffs.PEEL",
    "svc.job.job-1.ack.PEEL",
    "svc.job.job-1.return.PEEL",
    "svc.job.job-1.schedule.PEEL",
    "svc.event.PEEL.a.b",
  ];
  const requested = ["hello", "fetch", "renew", "rekey"].map((kind) => `svc.peel.PEEL.${kind}`);
  const progress = "svc.job.job-1.progress.PEEL";
  let masters: Bus;
  /** Where the masters' account had what the thief sent, but for where masters take what sites send. */
  const arrived = new Map<string, string>();

  beforeAll(async () => {
    masters = await connectAs("master.creds");
    masters.nats.subscribe(">", {
      callback(_, message) {
        const text = message.string();
        if (!message.subject.startsWith("svc.from.") && text.startsWith("thief "))
          arrived.set(text, message.subject);
      },
    });
    await masters.nats.flush();
  }, 60_000);
  afterAll(() => masters?.nats.close());

  const send = async (subject: string) => ({ answer: await answerTo(link, subject, `thief ${subject}`) });

  // Of no site, of another site, and of none at all.
  test.each(["web-1", "web-2", "ghost", "master"])(
    "it is not heard as %s",
    async (peel) => {
      const of = (subject: string) => subject.replace("PEEL", peel);
      const everything = [...stored, ...requested, progress].map(of);
      const ways = everything.flatMap((subject) =>
        ["", "svc.relay.", "svc.from.berlin.", "svc.from.munich.", "svc.relay.svc.from.munich."].map(
          (before) => `${before}${subject}`,
        ),
      );
      const answers = await Promise.all(
        ways.map(async (subject) => [subject, (await send(subject)).answer] as const),
      );
      const answered = answers.flatMap(([subject, answer]) => (answer === undefined ? [] : [subject]));
      expect(answered.sort()).toEqual([...requested, progress].map(of).sort());
      for (const [, answer] of answers)
        expect(answer || "the label of the site").toContain("the label of the site");
      await masters.nats.flush();
      expect([...arrived]).toEqual([]);
    },
    90_000,
  );

  test("it is heard as a peel of its own", async () => {
    const of = (subject: string) => subject.replace("PEEL", "web-3");
    for (const subject of stored.map(of)) {
      expect((await send(`svc.relay.${subject}`)).answer).toContain('"seq"');
      await masters.nats.flush();
      expect(arrived.get(`thief svc.relay.${subject}`)).toBe(subject);
    }
    for (const subject of requested.map(of)) {
      // Every one of these is malformed, or lacks a signature of the peel.
      expect((await send(subject)).answer).not.toContain("the label of the site");
    }
    expect((await send(of(progress))).answer).toBe("");
    await until(() => arrived.get(`thief ${of(progress)}`) === of(progress));
  }, 90_000);

  test("what is refused is counted, logged in few lines, and named by the masters", async () => {
    for (let n = 0; n < 2_000; n++) link.publish(`svc.relay.svc.event.web-1.n${n}`, "thief", { reply: "x" });
    await link.flush();
    const { code, stdout } = await fleet.svc("cluster", "status", "--output", "json");
    expect([code, JSON.parse(stdout).problems]).toEqual([
      1,
      [expect.stringMatching(/^site berlin sends for peels that do not have its label, .* web-1, web-2: /)],
    ]);
    const port = /"health_port":(\d+)/.exec(master.output())?.[1];
    const metric = async () => {
      const text = await (await fetch(`http://127.0.0.2:${port}/metrics`)).text();
      return Number(/^svc_site_messages_refused_total\{site="berlin"\} (\d+)$/m.exec(text)?.[1]);
    };
    await until(metric, (count) => count > 2_000);
    expect(master.output().match(/a site spoke for other peels/g)?.length).toBeLessThan(8);
  }, 90_000);
});

test.each([
  "$JS.API.INFO",
  "$JS.API.STREAM.NAMES",
  "$JS.API.STREAM.MSG.GET.KV_enrollments",
  "$KV.enrollments.enr-x",
  "$KV.revocations.x",
  "$KV.sites.berlin",
  "svc.admin.enroll.list",
  "svc.admin.cluster.status",
  "svc.job.request",
  "svc.master.reactor.status",
  "svc.audit.jobs.create",
])("the masters do not answer it on %s", async (subject) => {
  expect(await answerTo(link, subject, "{}")).toBeUndefined();
});

test.each([
  "$SYS.REQ.SERVER.PING",
  "$SYS.REQ.SERVER.PING.CONNZ",
  "$SYS.REQ.SERVER.PING.JSZ",
  "$SYS.REQ.SERVER.PING.ACCOUNTZ",
])("the servers of the bus do not answer it on %s", async (subject) => {
  const answers: string[] = [];
  const collect = async () => {
    for await (const message of await system.requestMany(subject, "{}", { maxWait: 700 })) {
      answers.push(message.string());
    }
  };
  await collect().catch((thrown) => expect(thrown).toMatchObject({ code: "503" }));
  // Its own server does.
  expect(answers.filter((answer) => !answer.includes('"host":"127.0.0.3"'))).toEqual([]);
});

test("it hears new claims of accounts, and nothing else of the system account", async () => {
  const found = await received(system, async () => {
    await fleet.svc("enroll", "revoke", "--peel", "web-1");
    await fleet.svc("cluster", "status");
  });
  const others = [...found].filter(
    (subject) =>
      !/^\$SYS\.(?:REQ\.CLAIMS\.UPDATE|REQ\.ACCOUNT\.[A-Z0-9]+\.CLAIMS\.UPDATE|_INBOX\.)/.test(subject),
  );
  expect(others).toEqual([]);
  expect([...found].some((subject) => subject.endsWith("CLAIMS.UPDATE"))).toBe(true);
}, 60_000);

test("connections that it invents count for no peel, and nobody is refused for them", async () => {
  const user = newKeyPair("user", systemRandom);
  const signed = { type: "user", subject: user.publicKey, issuedAt: 1, nats: {} } as const;
  const forged = encodeJwt({ ...signed, name: "web-2" }, newKeyPair("account", systemRandom));
  const report = (id: number, jwt: string) =>
    JSON.stringify({
      server: { id: "NBSWY3DPEB3W64TMMQNBSWY3DPEB3W64TMMQNBSWY3DPEB3W64TMMQAAAA" },
      client: { id, user: user.publicKey, name_tag: "web-2", jwt },
    });
  // Ten times the budget of connections suspends a peel, and an unknown user is refused for good.
  for (let n = 0; n < 1_000; n++) {
    const kind = n % 2 === 0 ? "CONNECT" : "DISCONNECT";
    system.publish(`$SYS.ACCOUNT.${peels}.${kind}`, report(n, n % 3 === 0 ? "" : forged));
  }
  await system.flush();
  // It has connected since: the masters have read all of that.
  await fleet.startPeel("web-4", 5);
  expect(master.output()).not.toContain("a peel without a valid record was refused");
  expect(master.output()).not.toContain("budget of a peel exceeded");
  expect((await fleet.svc("run", "web-2", "test.ping")).code).toBe(0);
}, 60_000);

test("it cannot take a revocation back", async () => {
  const claims = async () => (await hub.lookupClaims(peels)).map(({ jwt }) => readClaims(jwt).iat);
  const before = await claims();
  const earlier = readFileSync(join(fleet.dir, "auth/account.jwt"), "utf8").trim();
  for (const subject of ["$SYS.REQ.CLAIMS.UPDATE", `$SYS.REQ.ACCOUNT.${peels}.CLAIMS.UPDATE`]) {
    expect(await answerTo(system, subject, earlier)).toBeUndefined();
  }
  expect(await claims()).toEqual(before);
});

test("it cannot pass for a server of the bus, and answers nothing that masters ask servers", async () => {
  const id = "NBSWY3DPEB3W64TMMQNBSWY3DPEB3W64TMMQNBSWY3DPEB3W64TMMQAAAA";
  const report = JSON.stringify({ server: { name: "n9", id, ver: "2.9.0", jetstream: false } });
  const answers = system.subscribe("$SYS.REQ.SERVER.PING", {
    callback: (_, message) => message.respond(report),
  });
  system.publish(`$SYS.SERVER.${id}.STATSZ`, report);
  await system.flush();
  const { stdout } = await fleet.svc("cluster", "status", "--output", "json");
  expect(JSON.parse(stdout).members.map(({ server }: { server: string }) => server)).not.toContain("n9");
  expect(hub.present().map(({ name }) => name)).not.toContain("n9");
  answers.unsubscribe();
}, 60_000);

test("it cannot end a connection, and masters end none because of what it reports", async () => {
  const { server_id: server = "", client_id: cid = 0 } = observer.nats.info ?? {};
  const { jwt } = parseCredentials(readFileSync(join(fleet.dir, "auth/system.creds"), "utf8"));
  expect(await answerTo(system, `$SYS.REQ.SERVER.${server}.KICK`, JSON.stringify({ cid }))).toBeUndefined();
  // As a server of the bus reports a connection whose client named another key than that of its JWT.
  const event = { server: { id: server }, client: { id: cid, user: `U${"A".repeat(55)}`, jwt } };
  system.publish(`$SYS.ACCOUNT.${peels}.CONNECT`, JSON.stringify(event));
  await system.flush();
  await fleet.svc("cluster", "status");
  await observer.nats.flush();
  expect(observer.reconnects).toBe(0);
}, 60_000);

test("its credentials are good for a link only", async () => {
  for (const name of ["link.creds", "system.creds"]) {
    const opened = connectBus({
      urls: [`tls://127.0.0.2:${fleet.hosts.ports.bus}`],
      tlsName: fleet.hosts.names[0] ?? "",
      name: "thief",
      identity: { credentials: readFileSync(at(name), "utf8") },
      ca: readFileSync(at("nats-ca.crt"), "utf8"),
      clock: systemClock,
      log: recordingLog(),
    });
    await expect(opened).rejects.toMatchObject({ kind: "unavailable" });
    const { nats } = readClaims(parseCredentials(readFileSync(at(name), "utf8")).jwt);
    expect(nats.allowed_connection_types).toEqual(["LEAFNODE"]);
  }
}, 60_000);

test("when the site is removed, both links end and stay so", async () => {
  expect((await fleet.svc("cluster", "remove-site", "berlin")).code).toBe(0);
  await until(async () => (await hub.leafNodes())?.length === 0);
  await thief.waitFor(/Authorization Violation/i);
  expect(await hub.leafNodes()).toEqual([]);
}, 60_000);
