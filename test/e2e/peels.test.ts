import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rfc3339, systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { insertEnrollment } from "../../internal/fleet/enrollment/store/store.ts";
import { encodeJob, type Job } from "../../internal/fleet/jobs/records/record.ts";
import { encodeSettingsRecord } from "../../internal/fleet/settings/record.ts";
import { deriveCurveKey } from "../../internal/identity/curve.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { createEnvelopeMaker, encodeSettings } from "../../internal/wire/settings-envelope.ts";
import { type Answers, type ApiText, answersOf } from "../harness/api-text.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { call, postJson } from "../harness/enrollee.ts";
import { type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { runRecord } from "../harness/run-record.ts";
import { until } from "../harness/until.ts";
import { vouchersOf } from "../harness/vouchers.ts";

// What the masters know of peels, through the compiled binaries: at the terminal and over REST.

setDefaultTimeout(60_000);

let bus: TestBus;
let stored: Bus;
let master: MasterDaemon;
let answers: Answers;
/** A job that ended differently on its peels. */
const createdAt = systemClock.now() - 3_600_000;
const job: Job = {
  ...{ jid: "job-3MTjXmu1B1JqO5dMBpj4BG197Ud", function: "state.apply", args: {}, metadata: {} },
  ...{ targets: ["db-1", "web-1_example", "web-2_example"], timeoutMs: 60_000, createdBy: "ann" },
  ...{ createdAt, deadline: createdAt + 60_000 },
  settled: {
    ...{ status: "failed", counts: { ok: 1, failed: 1, offline: 1 }, finishedAt: createdAt + 60_000 },
    ...{ offline: ["db-1"], places: { failed: [2] } },
  },
};
/** A value that nobody may see who does not ask for it by name, and may. */
const secret = `opensesame-${Buffer.from(systemRandom(16)).toString("hex")}`;
runRecord.register("settings value", secret);
const settingsFiles = {
  "top.sls": "base:\n  '*':\n    - common\n  'web-*':\n    - secret.web\n    - web\n",
  "common.sls": `app:\n  port: 80\n  db_password: ${secret}-1\nusers:\n  - {name: ann, token: ${secret}-2}\n`,
  "secret/web.sls": `app:\n  port: ${secret}-3\n  motd: ${secret}-4\n`,
  "web.sls": "{% for n in [8080] %}\napp:\n  port: {{ n }}\n{% endfor %}\n",
};
const lastJob = (outcome: string) => ({
  last_job: { jid: job.jid, function: "state.apply", outcome, at: rfc3339(createdAt) },
});
const envelopeOf = (peelId: string, version: number) =>
  createEnvelopeMaker(newKeyPair("user", systemRandom), systemRandom).make(
    encodeSettings({}),
    { peelId, curvePublicKey: deriveCurveKey(newKeyPair("user", systemRandom)).publicKey },
    { version, digest: new Uint8Array(32) },
  );
const idOf = (at: number) => `enr-${`${at}`.padStart(27, "0")}`;

beforeAll(async () => {
  bus = await startBus();
  const settings = join(bus.dir, "settings");
  for (const [path, text] of Object.entries(settingsFiles)) {
    mkdirSync(dirname(join(settings, path)), { recursive: true });
    writeFileSync(join(settings, path), text);
  }
  master = await startMasterBinary(bus, ["--api-docs", "--settings-dir", settings]);
  stored = await connectTo(bus, "master");
  const enrollments = { ...(await openBucket(stored, "enrollments")), vouchers: vouchersOf(bus) };
  for (const [at, peelId] of ["db-1", "web-1_example", "web-2_example"].entries()) {
    const keys = { publicKey: "U", curvePublicKey: "X" };
    const times = { createdAt: 1_000, updatedAt: 1_000, credsExpiresAt: 2_000_000_000_000 };
    const record = { id: idOf(at), peelId, ...keys, ...times, state: "active" as const };
    await insertEnrollment(enrollments, record, undefined);
  }
  const facts = await openBucket(stored, "facts");
  await facts.put("web-1_example", encode({ os: "Debian", osrelease: "12", svc_version: "1.2.3" }));
  await facts.put("web-2_example", encode({ os: "Ubuntu", osrelease: "22.04", rack: "r1" }));
  await facts.put("web-2_example", encode({ os: "Ubuntu", osrelease: "24.04" }));
  await (await openBucket(stored, "jobs")).put(job.jid, encodeJob(job));
  const record = { peelId: "web-2_example", envelope: envelopeOf("web-2_example", 1_767_225_600_000) };
  await (await openBucket(stored, "settings")).put("web-2_example", encodeSettingsRecord(record));
  await (await openBucket(stored, "peel-heartbeat")).put("web-1_example", encode({}));
  answers = answersOf((await rest("openapi.json")).json as ApiText);
  await hasFiles(master);
});
afterAll(async () => {
  await stored?.drain();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const rest = (path: string, token = master.token, { url } = master) =>
  call({ url, ca: bus.caPem }, { path: `/api/v1/${path}`, headers: { authorization: `Bearer ${token}` } });
/** A master answers before it has read which state files are published, and then without them. */
const hasFiles = (of: MasterDaemon) =>
  until(
    async () => (await rest("peels", of.token, of)).json as { environment?: string }[],
    (found) => found.length > 0 && found.every(({ environment }) => environment === "base"),
  );
const send = (method: string, path: string, token: string, body?: object) =>
  body === undefined
    ? call(
        { url: master.url, ca: bus.caPem },
        { method, path: `/api/v1/${path}`, headers: { authorization: `Bearer ${token}` } },
      )
    : postJson({ url: master.url, ca: bus.caPem }, `/api/v1/${path}`, body, {
        ...{ method, headers: { authorization: `Bearer ${token}` } },
      });
const described = async (operation: string, path: string, status: number) => {
  const reply = await rest(path);
  expect([path, reply.status, answers.faults(operation, reply)]).toEqual([path, status, []]);
  return reply;
};

test("svc lists peels, which of them are alive, and each one, also those that are off", async () => {
  expect((await svc(bus, "enroll", "label", idOf(1), "env=prod")).code).toBe(0);
  const list = await svc(bus, "peels", "list");
  const lines = list.stdout.trimEnd().split("\n");
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ["PEEL ID", "ALIVE", "SINCE", "VERSION", "OS", "LABELS"],
    ["db-1", "silent", "-", "-", "-", "-"],
    ["web-1.example", "alive", expect.stringMatching(/^\d+s$/), "1.2.3", "Debian 12", "env=prod"],
    // No master heard it: it is silent since it stored its facts.
    ["web-2.example", "silent", expect.stringMatching(/^\d+s$/), "-", "Ubuntu 24.04", "-"],
  ]);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);

  const ids = async (...words: string[]) => {
    const { code, stdout } = await svc(bus, "peels", "list", ...words, "--output", "json");
    return [code, (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id)];
  };
  expect(await ids("--alive")).toEqual([0, ["web-1.example"]]);
  expect(await ids("web* and not T@env:prod", "--silent")).toEqual([0, ["web-2.example"]]);
  expect(await ids("--sort", "os")).toEqual([0, ["web-1.example", "web-2.example", "db-1"]]);

  const shown = await svc(bus, "peels", "show", "web-1.example", "--output", "json");
  expect(JSON.parse(shown.stdout)).toEqual({
    ...{ id: "web-1.example", peel: "web-1.example", peel_id: "web-1_example" },
    ...{ enrollment_id: idOf(1), state: "active" },
    ...{ alive: true, alive_since: expect.any(String), version: "1.2.3", os: "Debian 12" },
    // It ran no states yet: these are the state files that it would use.
    environment: "base",
    commit: "local",
    snapshot: expect.any(String),
    ...{ labels: { env: "prod" }, creds_expires_at: "2033-05-18T03:33:20.000Z" },
    ...lastJob("ok"),
  });
  const off = await svc(bus, "peels", "show", "web-2_example");
  expect([off.code, off.stdout]).toEqual([0, expect.stringMatching(/^Life +silent, since /m)]);
});

test("svc reads the stored facts of a peel that is off", async () => {
  const of = async (...words: string[]) => {
    const { code, stdout } = await svc(bus, "facts", "get", "web-2.example", ...words);
    return [code, stdout];
  };
  expect(await of("osrelease")).toEqual([0, "24.04\n"]);
  expect(await of()).toEqual([0, "os: Ubuntu\nosrelease: 24.04\n"]);
  const facts = { os: "Ubuntu", osrelease: "24.04" };
  expect(await of("--output", "json")).toEqual([0, `${JSON.stringify(facts, undefined, 2)}\n`]);
});

test("svc shows the last job and the settings of a peel, and another master says the same", async () => {
  const columns = ["--columns", "id,settings_version,last_job,last_job_age"];
  const list = await svc(bus, "peels", "list", ...columns);
  expect(
    list.stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/)),
  ).toEqual([
    ["PEEL ID", "SETTINGS VERSION", "LAST JOB", "LAST JOB AGE"],
    ["db-1", "-", "state.apply offline", "1h"],
    ["web-1.example", "-", "state.apply ok", "1h"],
    ["web-2.example", "1767225600000", "state.apply failed", "1h"],
  ]);
  const shown = await svc(bus, "peels", "show", "web-2.example");
  expect(shown.stdout).toMatch(/^Settings +version 1767225600000$/m);
  expect(shown.stdout).toMatch(
    /^Last job +state\.apply, failed, job-3MTjXmu1B1JqO5dMBpj4BG197Ud, created at /m,
  );
  // It has seen no event, as a master after its restart.
  await using other = await startMasterBinary(bus);
  const known = (await rest("peels")).json as Record<string, unknown>[];
  const same = known.map(({ alive_since: _, silent_since: __, ...rest }) => rest);
  expect(await hasFiles(other)).toMatchObject(same);
});

const namesOf = (host: string) => ({
  ...{ peel: `${host}.example`, peel_id: `${host}_example` },
});

test("svc finds and counts facts, and says what changed", async () => {
  const json = async (...words: string[]) => {
    const { code, stdout, stderr } = await svc(bus, "facts", ...words, "--output", "json");
    return code === 0 ? JSON.parse(stdout) : stderr;
  };
  expect(await json("find", "web*", "--show", "os,svc_version")).toEqual([
    { ...namesOf("web-1"), facts: { os: "Debian", svc_version: "1.2.3" } },
    { ...namesOf("web-2"), facts: { os: "Ubuntu" } },
  ]);
  const table = await svc(bus, "facts", "find", "*", "--show", "os,svc_version");
  expect(table.stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
    ["PEEL ID", "OS", "SVC_VERSION"],
    ["db-1", "-", "-"],
    ["web-1.example", "Debian", "1.2.3"],
    ["web-2.example", "Ubuntu", "-"],
    [""],
  ]);
  expect(await json("count", "os", "web*")).toEqual({
    groups: [
      { facts: { os: "Debian" }, peels: 1 },
      { facts: { os: "Ubuntu" }, peels: 1 },
    ],
    peels: 2,
  });
  const changes = [
    { at: expect.any(String), name: "osrelease", before: "22.04", after: "24.04" },
    { at: expect.any(String), name: "rack", before: "r1" },
  ];
  expect(await json("history", "web-2.example")).toEqual({ changes, known_since: expect.any(String) });
  expect(await json("history", "web-2.example", "--since", "1m")).toMatchObject({ changes });
  expect(await json("history", "web-2.example", "--since", "2999-01-01")).toMatchObject({ changes: [] });
  const history = await svc(bus, "facts", "history", "web-2");
  const lines = await svc(bus, "facts", "history", "web-2.example", "--output", "jsonl");
  expect(
    lines.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(changes);
  const found = await svc(bus, "facts", "find", "web*", "--show", "os,svc_version", "--output", "csv");
  expect(found.stdout).toBe(
    "peel,peel_id,os,svc_version\nweb-1.example,web-1_example,Debian,1.2.3\nweb-2.example,web-2_example,Ubuntu,\n",
  );
  expect(history.stderr).toStartWith("web-2 is web-2.example\n");
  expect(history.stdout).toMatch(/^\d+s +osrelease {2}22\.04 {3}24\.04$/m);
  expect(history.stderr).toMatch(/the bus knows the facts of this peel since /);
});

test("REST has the same facts, and refuses who has no token", async () => {
  const found = await described("findFacts", "facts?show=os&limit=2", 200);
  expect(found.json).toMatchObject([{ peel: "db-1", facts: {} }, { facts: { os: "Debian" } }]);
  expect(found.headers.link).toBe(
    '</api/v1/facts?target=*&limit=2&show=os&cursor=web-1_example>; rel="next"',
  );
  await described("findFacts", "facts?show=oss", 400);
  await described("findFacts", "facts", 400);
  expect((await described("countFacts", "facts/count?by=os&target=web*", 200)).json).toMatchObject({
    peels: 2,
  });
  await described("countFacts", "facts/count?by=oss", 400);
  const one = await described("getFacts", "peels/web-2.example/facts?name=osrelease", 200);
  expect(one.json).toBe("24.04");
  await described("getFacts", "peels/web-2.example/facts", 200);
  await described("getFacts", "peels/db-1/facts", 404);
  await described("getFactsHistory", "peels/web-2_example/facts/history", 200);
  await described("getFactsHistory", "peels/web-2_example/facts/history?since=soon", 400);
  await described("getFactsHistory", "peels/db-1/facts/history", 404);
  const paths = ["facts?show=os", "facts/count?by=os", "peels/web-2/facts", "peels/web-2/facts/history"];
  for (const path of paths) expect((await rest(path, "wrong")).status).toBe(401);
});

test("svc shows and explains the settings that a master compiles, with secrets hidden", async () => {
  const json = async (...words: string[]) => {
    const { code, stdout, stderr } = await svc(bus, "settings", ...words, "--output", "json");
    return code === 0 ? JSON.parse(stdout) : stderr;
  };
  const hidden = "********";
  const shown = await svc(bus, "settings", "show", "web-1.example", "--output", "json");
  expect(JSON.parse(shown.stdout)).toEqual({
    app: { port: 8080, db_password: hidden, motd: hidden },
    users: [{ name: "ann", token: hidden }],
  });
  expect(shown.stderr).toMatch(/--reveal shows it to operators who may see it/);
  // A peel that is off, and has not been seen by this master.
  expect(await json("show", "web-2.example", "app:port")).toBe(8080);
  expect(await json("explain", "web-1.example", "app:port")).toEqual({
    settings: [
      {
        ...{ name: "app:port", value: 8080, file: "web.sls", line: 3, because: "top.sls:6" },
        covered: [
          { value: 80, file: "common.sls", line: 2, because: "top.sls:3" },
          { value: hidden, file: "secret/web.sls", line: 2, because: "top.sls:5" },
        ],
      },
    ],
  });
  const table = await svc(bus, "settings", "explain", "web-1.example", "app:port");
  expect(table.stdout.split("\n").map((line) => line.trim().split(/ {2,}/))).toEqual([
    ["SETTING", "FROM", "VALUE", "ASKED FOR BY"],
    ["app:port", "web.sls:3", "8080", "top.sls:6"],
    ["covers", "secret/web.sls:2", hidden, "top.sls:5"],
    ["covers", "common.sls:2", "80", "top.sls:3"],
    [""],
  ]);
  expect(await json("show", "web-1.example", "app:db_password", "--reveal")).toBe(`${secret}-1`);
  expect(JSON.stringify(await json("explain", "web-1.example", "app:port", "--reveal"))).toContain(
    `${secret}-3`,
  );
  expect(await json("show", "web-1.example", "app:prot")).toMatch(
    /no setting "app:prot" \(did you mean app:port\?\)/,
  );
  expect(await json("show", "db-1")).toMatch(/db-1 has no settings yet: it has stored no facts/);
  const audit = await svc(bus, "audit", "list", "--action", "settings.*", "--output", "json");
  const entries = JSON.parse(audit.stdout) as { action: string; outcome: string; subjects: object }[];
  expect(entries.filter(({ outcome }) => outcome === "done")).toMatchObject([
    { action: "settings.reveal-explained", subjects: { peel: "web-1_example", setting: "app:port" } },
    { action: "settings.reveal", subjects: { peel: "web-1_example", setting: "app:db_password" } },
  ]);
  expect(`${shown.stdout}${table.stdout}${audit.stdout}`).not.toContain("opensesame");
});

test("over REST, roles decide who sees settings, and who sees secrets", async () => {
  const tokenOf = async (role: string) => {
    const body = { name: `t-${role}`, roles: [role], expires: "1h" };
    const made = await send("POST", "tokens", master.token, body);
    const { token } = made.json as { token: string };
    runRecord.register("token", token);
    return token;
  };
  const [viewer, operator, admin] = [
    await tokenOf("viewer"),
    await tokenOf("operator"),
    await tokenOf("admin"),
  ];
  const path = "peels/web-1.example/settings";
  const reported = async (method: string, at: string, token: string, body?: object) => {
    const { status, json } = await send(method, `${path}${at}`, token, body);
    return [status, JSON.stringify(json).includes("opensesame")];
  };
  for (const at of ["", "?name=app:db_password", "/explain?name=app"]) {
    expect([at, await reported("GET", at, viewer)]).toEqual([at, [403, false]]);
    expect([at, await reported("GET", at, operator)]).toEqual([at, [200, false]]);
    expect([at, await reported("GET", at, admin)]).toEqual([at, [200, false]]);
  }
  for (const [at, body] of [
    ["/reveal", {}],
    ["/explain/reveal", { name: "app" }],
  ] as const) {
    expect([at, await reported("POST", at, viewer, body)]).toEqual([at, [403, false]]);
    expect([at, await reported("POST", at, operator, body)]).toEqual([at, [403, false]]);
    expect([at, await reported("POST", at, admin, body)]).toEqual([at, [200, true]]);
    expect((await reported("GET", at, admin))[0]).toBe(405);
  }
  expect((await reported("GET", "?reveal=true", admin))[0]).toBe(400);
  expect((await reported("GET", "", "wrong"))[0]).toBe(401);
  const answered: [string, string, string, number, object?][] = [
    ["showSettings", "GET", "?name=app", 200],
    ["showSettings", "GET", "?name=ap", 404],
    ["explainSettings", "GET", "/explain?name=app", 200],
    ["explainSettings", "GET", "/explain", 400],
    ["revealSettings", "POST", "/reveal", 200, {}],
    ["revealExplained", "POST", "/explain/reveal", 200, { name: "app" }],
  ];
  for (const [operation, method, at, status, body] of answered) {
    const reply = await send(method, `${path}${at}`, admin, body);
    expect([at, reply.status, answers.faults(operation, reply)]).toEqual([at, status, []]);
  }
});

test.each([
  [
    ["peels", "show", "web-3.example"],
    1,
    /the peel "web-3\.example" does not exist \(did you mean web-\d\.example\?\)/,
  ],
  [["facts", "get", "web-1.example", "oss"], 1, /web-1\.example has no fact "oss" \(did you mean os\?\)/],
  [
    ["facts", "find", "*", "--show", "osrelese"],
    1,
    /no peel has a fact "osrelese" \(did you mean osrelease\?\)/,
  ],
  [["facts", "count", "oss"], 1, /no peel has a fact "oss" \(did you mean os\?\)/],
  [["facts", "count", "os", "web and"], 1, /target: column \d+: /],
  [["facts", "history", "web-3.example"], 1, /the peel "web-3\.example" does not exist/],
  [["facts", "history", "web-2.example", "--since", "soon"], 2, /--since: "soon" is not a time/],
  [["facts", "get", "db-1"], 1, /db-1 has stored no facts yet/],
  [["facts", "get", "db-2"], 1, /the peel "db-2" does not exist \(did you mean db-1\?\)/],
  [["peels", "list", "wbe-2"], 1, /the peel "wbe-2" does not exist \(did you mean web-2\.example\?\)/],
  [["peels", "list", "webb*"], 1, /no peel matches the target: see svc peels list/],
  [["peels", "list", "webb*", "--output", "json"], 1, /no peel matches the target/],
  [["facts", "find", "wbe-2", "--show", "os"], 1, /did you mean web-2\.example\?/],
  [["facts", "count", "os", "webb*"], 1, /no peel matches the target/],
  [["run", "wbe-2", "test.ping"], 1, /the peel "wbe-2" does not exist \(did you mean web-2\.example\?\)/],
  [["run", "wbe-2", "test.ping", "--preview"], 1, /did you mean web-2\.example\?/],
  [["run", "webb*", "test.ping"], 1, /no peel matches the target: see svc peels list/],
  [
    ["run", "G@oss:Linux", "test.ping"],
    1,
    /^svc: no peel matches the target: no peel has a fact "oss" \(did you mean os\?\)\n$/,
  ],
  [["run", "web* and not G@oss:Linux and T@envv:prod", "test.ping", "--preview"], 1, /a fact "oss"/],
  [["run", "T@envv:prod", "test.ping"], 1, /: no peel has a label "envv" \(did you mean env\?\)\n$/],
  [["run", "G@os:Plan9 and T@env:none", "test.ping"], 1, /target: see svc peels list/],
  [["peels", "list", "G@oss:*"], 1, /: no peel has a fact "oss" \(did you mean os\?\)\n$/],
  [["facts", "count", "os", "T@zzzzzz:prod"], 1, /: no peel has a label "zzzzzz"\n$/],
  [["states", "status", "P@oss:x"], 1, /: no peel has a fact "oss" \(did you mean os\?\)\n$/],
  [["rollout", "start", "G@oss:Linux", "test.ping"], 1, /: no peel has a fact "oss" \(did/],
  [["rollout", "start", "wbe-2", "test.ping"], 1, /did you mean web-2\.example\?/],
  [["rollout", "start", "wbe-2", "test.ping", "--dry-run"], 1, /did you mean web-2\.example\?/],
  [["settings", "show", "wbe-1"], 1, /did you mean web-1\.example\?/],
  [["peels", "list", "web and"], 1, /target: column \d+: /],
  [
    ["peels", "list", "--columns", "id,verson"],
    2,
    /--columns: unknown column "verson" \(did you mean version\?\)/,
  ],
  [["peels", "list", "--sort", "verson"], 2, /--sort.*version/],
  [["peels", "list", "--alive", "--silent"], 2, /--alive and --silent exclude each other/],
])("svc %p ends with %d, and says why", async (words, exit, message) => {
  const ran = await svc(bus, ...words);
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([exit, "", expect.stringMatching(message)]);
});

test.each([
  [["run", "G@oss:Linux", "test.ping", "--output", "json"], /a fact "oss" \(did you mean os\?\)$/],
  [["run", "wbe-2", "test.ping", "--async", "--output", "json"], /"wbe-2" does not exist/],
  [["rollout", "start", "webb*", "test.ping", "--output", "json"], /target: see svc peels list/],
])("svc %p prints a document where nobody matches", async (words, error) => {
  const ran = await svc(bus, ...words);
  expect([ran.code, JSON.parse(ran.stdout)]).toEqual([1, { error: expect.stringMatching(error) }]);
});

test("REST answers the same page by page, and refuses who has no token", async () => {
  const first = await described("listPeels", "peels?limit=2", 200);
  const { link } = first.headers;
  expect(link).toBe('</api/v1/peels?target=*&limit=2&cursor=web-1_example>; rel="next"');
  const next = /<\/api\/v1\/(.*)>/.exec(String(link))?.[1] ?? "";
  const second = await described("listPeels", next, 200);
  expect(second.headers.link).toBeUndefined();
  const all = await svc(bus, "peels", "list", "--output", "json");
  expect([...(first.json as object[]), ...(second.json as object[])]).toMatchObject(
    (JSON.parse(all.stdout) as { id: string; state: string }[]).map(({ id, state }) => ({ id, state })),
  );
  const chosen = await described("listPeels", `peels?target=${encodeURIComponent("G@os:Debian")}`, 200);
  expect(chosen.json).toMatchObject([{ id: "web-1.example" }]);
  await described("listPeels", "peels?limit=0", 400);
  await described("listPeels", "peels?target=web+and", 400);
  expect((await described("showPeel", "peels/db-1", 200)).json).toMatchObject({ id: "db-1", alive: false });
  await described("showPeel", "peels/db-3", 404);
  for (const path of ["peels", "peels/db-1"]) expect((await rest(path, "wrong")).status).toBe(401);
});
