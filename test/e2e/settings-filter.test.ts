import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { call } from "../harness/enrollee.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { runRecord } from "../harness/run-record.ts";

// An operator who may not read settings tries to read a secret by asking which peels a part of it means.

setDefaultTimeout(60_000);

const secret = "hunter2secreta";
const welcome = "guten-tag";
runRecord.register("settings value", secret);

let bus: TestBus;
let master: TestMaster;
const tokens = new Map<string, string>();

beforeAll(async () => {
  bus = await startBus();
  const tree = join(bus.dir, "settings");
  makeDirectory(tree, 0o700);
  writeFileSync(join(tree, "top.sls"), "base:\n  'db-*': [db]\n");
  writeFileSync(join(tree, "db.sls"), `db_password: ${secret}\nwelcome: ${welcome}\nrole: db\n`);
  writeFileSync(join(tree, "nodegroups.yaml"), "databases: I@role:db\n");
  const roles = join(bus.dir, "roles.yaml");
  writeFileSync(
    roles,
    "roles:\n  team:\n    jobs:\n      - {functions: [test.*], targets: 'I@role:db'}\n    facts: [read]\n    states: [read]\n",
  );
  const configured = [
    { username: "ann", has: ["operator"] },
    { username: "bob", has: ["viewer"] },
    { username: "cid", has: ["team"] },
  ].map(({ username, has }) => {
    // The harness enrolls peels with the token of ann.
    const token = username === "ann" ? testToken : Buffer.from(systemRandom(24)).toString("base64url");
    runRecord.register("token", token);
    tokens.set(username, token);
    const token_file = join(bus.dir, `${username}.token`);
    writeFileAtomic(token_file, token, secretMode);
    return { username, token_file, roles: has };
  });
  master = await startMaster(bus, {
    tokens: configured,
    flags: ["--settings-dir", tree, "--roles-file", roles],
  });
  const stored = await connectTo(bus, "master");
  const facts = await openBucket(stored, "facts");
  for (const peelId of ["db-1", "web-1"]) {
    await enrollPeel(master, peelId);
    await facts.put(peelId, encode({ os: "Debian" }));
  }
  await stored.drain();
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function rest(who: string, method: string, path: string, body?: unknown) {
  const headers = { authorization: `Bearer ${tokens.get(who)}`, "content-type": "application/json" };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const { status, json } = await call(master, { method, path: `/api/v1${path}`, headers, ...content });
  return { status, json: json as Record<string, unknown> };
}
const resolve = (who: string, path: string, target: string) =>
  rest(who, "GET", `${path}?target=${encodeURIComponent(target)}`);

const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789-";

/** What a setting says, found by asking for its characters one after another. */
async function read(who: string, setting: string): Promise<string> {
  let found = "";
  const means = async (pattern: string) => {
    const { status, json } = await resolve(who, "/targets", `I@${setting}:${pattern}`);
    return status === 200 && json.total === 1;
  };
  for (let at = 0; at < 16 && !(await means(found === "" ? "?" : found)); at++) {
    let rest = [...alphabet];
    if (!(await means(`${found}[${alphabet}]*`))) return found;
    while (rest.length > 1) {
      const half = rest.slice(0, rest.length >> 1);
      rest = (await means(`${found}[${half.join("")}]*`)) ? half : rest.slice(half.length);
    }
    found += rest[0] ?? "";
  }
  return found;
}

test("a setting that is shown can be read by filters with the right to read it; a secret by nobody", async () => {
  expect(await read("ann", "welcome")).toBe(welcome);
  expect(await read("ann", "db_password")).toBe("");
  for (const who of ["bob", "cid"]) {
    expect(await read(who, "welcome")).toBe("");
    expect(await read(who, "db_password")).toBe("");
  }
});

const refusal = expect.stringContaining(
  "may not do this: I@ in a target reads settings: no rule allows settings render",
);

test.each([
  "/peels",
  "/facts",
  "/facts/count",
  "/targets",
  "/states/status",
  "/states/drift",
  "/inventory",
  "/prometheus/targets",
])("GET %s is refused and not empty", async (path) => {
  const more = path === "/facts/count" ? "&by=os" : path === "/facts" ? "&show=os" : "";
  const get = (who: string, target: string) =>
    rest(who, "GET", `${path}?target=${encodeURIComponent(target)}${more}`);
  for (const who of ["bob", "cid"]) {
    const { status, json } = await get(who, "I@role:db");
    expect([status, json.error]).toEqual([403, refusal]);
    expect((await get(who, "db-*")).status).toBe(200);
  }
  expect((await get("ann", "I@role:db")).status).toBe(200);
});

test("a job and a rollout are refused too, and the question whether one may start it is answered with no", async () => {
  const fields = { target: "I@db_password:*", function: "test.ping" };
  const refused = await rest("cid", "POST", "/jobs", fields);
  expect([refused.status, refused.json.error]).toEqual([403, refusal]);
  expect((await rest("cid", "POST", "/rollouts", fields)).status).toBe(403);
  const can = await rest("cid", "POST", "/roles/can", { kind: "jobs", action: "run", ...fields });
  expect(can.json).toMatchObject({ allowed: false, lacking: "settings render" });
});

test("files of masters use settings for everyone: node groups, and the targets of a rule", async () => {
  expect((await resolve("bob", "/targets", "N@databases")).json).toMatchObject({ total: 1 });
  const run = (target: string) => rest("cid", "POST", "/jobs", { target, function: "test.ping" });
  expect((await run("db-1")).status).toBe(202);
  expect((await run("web-1")).status).toBe(403);
});
