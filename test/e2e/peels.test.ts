import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { encode } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/bucket.ts";
import type { Bus } from "../../internal/bus/connect.ts";
import { insertEnrollment } from "../../internal/fleet/enrollment/store.ts";
import { type Answers, type ApiText, answersOf } from "../harness/api-text.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { call } from "../harness/enrollee.ts";
import { type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { vouchersOf } from "../harness/vouchers.ts";

// What the masters know of peels, through the compiled binaries: at the terminal and over REST.

setDefaultTimeout(60_000);

let bus: TestBus;
let stored: Bus;
let master: MasterDaemon;
let answers: Answers;
const idOf = (at: number) => `enr-${`${at}`.padStart(27, "0")}`;

beforeAll(async () => {
  bus = await startBus();
  master = await startMasterBinary(bus, ["--api-docs"]);
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
  await facts.put("web-2_example", encode({ os: "Ubuntu", osrelease: "24.04" }));
  await (await openBucket(stored, "peel-heartbeat")).put("web-1_example", encode({}));
  answers = answersOf((await rest("openapi.json")).json as ApiText);
});
afterAll(async () => {
  await stored?.drain();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const rest = (path: string, token = master.token) =>
  call(
    { url: master.url, ca: bus.caPem },
    { path: `/api/v1/${path}`, headers: { authorization: `Bearer ${token}` } },
  );
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
    ["ID", "ALIVE", "SINCE", "VERSION", "OS", "LABELS"],
    ["db-1", "silent", "-", "-", "-", "-"],
    ["web-1.example", "alive", expect.stringMatching(/^\d+s$/), "1.2.3", "Debian 12", "env=prod"],
    ["web-2.example", "silent", "-", "-", "Ubuntu 24.04", "-"],
  ]);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);

  const ids = async (...words: string[]) => {
    const { code, stdout } = await svc(bus, "peels", "list", ...words, "--output", "json");
    return [code, (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id)];
  };
  expect(await ids("--alive")).toEqual([0, ["web-1.example"]]);
  expect(await ids("web* and not T@env:prod", "--silent")).toEqual([0, ["web-2.example"]]);
  expect(await ids("--sort", "os")).toEqual([0, ["web-1.example", "web-2.example", "db-1"]]);
  expect(await ids("mail*")).toEqual([0, []]);

  const shown = await svc(bus, "peels", "show", "web-1.example", "--output", "json");
  expect(JSON.parse(shown.stdout)).toEqual({
    ...{ id: "web-1.example", peel_id: "web-1_example", enrollment_id: idOf(1), state: "active" },
    ...{ alive: true, alive_since: expect.any(String), version: "1.2.3", os: "Debian 12" },
    ...{ labels: { env: "prod" }, creds_expires_at: "2033-05-18T03:33:20.000Z" },
  });
  const off = await svc(bus, "peels", "show", "web-2_example");
  expect([off.code, off.stdout]).toEqual([0, expect.stringMatching(/^Life +silent$/m)]);
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

test.each([
  [
    ["peels", "show", "web-3.example"],
    1,
    /there is no peel "web-3\.example" \(did you mean web-\d\.example\?\)/,
  ],
  [["facts", "get", "web-1.example", "oss"], 1, /web-1\.example has no fact "oss" \(did you mean os\?\)/],
  [["facts", "get", "db-1"], 1, /db-1 has stored no facts yet/],
  [["facts", "get", "db-2"], 1, /there is no peel "db-2" \(did you mean db-1\?\)/],
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
