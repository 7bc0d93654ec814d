import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { manualClock } from "../harness/clock.ts";
import { call } from "../harness/enrollee.ts";
import { startMasterBinary } from "../harness/fleet.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { runRecord } from "../harness/run-record.ts";
import { until } from "../harness/until.ts";

// Tokens of the REST API on two masters: what one of them acknowledged counts on the other at once.

setDefaultTimeout(60_000);

let bus: TestBus;
let first: TestMaster;
let second: TestMaster;
let intruder: Bus;

beforeAll(async () => {
  bus = await startBus();
  first = await startMaster(bus);
  second = await startMaster(bus);
  intruder = await connectTo(bus, "master");
});
afterAll(async () => {
  await intruder?.nats.close();
  await second?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

interface Made {
  id: string;
  token: string;
}

async function rest(master: TestMaster, method: string, path: string, token: string, body?: unknown) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  return call(master, { method, path: `/api/v1${path}`, headers, ...content });
}

async function make(master: TestMaster, name: string, roles = ["viewer"], expires = "90d"): Promise<Made> {
  const { status, json } = await rest(master, "POST", "/tokens", testToken, { name, roles, expires });
  expect([status, json]).toMatchObject([201, { name, state: "live", created_by: "tester" }]);
  runRecord.register("token", (json as Made).token);
  return json as Made;
}

const statusOf = async (master: TestMaster, token: string) =>
  (await rest(master, "GET", "/enrollments", token)).status;

describe("over REST", () => {
  test("a token that one master made is known to the other at once; one that it revoked is refused at once", async () => {
    for (let round = 0; round < 10; round++) {
      const { token, id } = await make(first, "ci");
      expect(await statusOf(second, token)).toBe(200);
      const revoked = await rest(first, "DELETE", `/tokens/${round % 2 === 0 ? "ci" : id}`, testToken);
      expect([revoked.status, revoked.json]).toMatchObject([
        200,
        { id, state: "revoked", revoked_by: "tester" },
      ]);
      const refused = await rest(second, "GET", "/enrollments", token);
      expect([refused.status, refused.json]).toEqual([
        401,
        {
          error: expect.stringMatching(
            /^the token ci was revoked by tester at \S+: an operator can make another/,
          ),
        },
      ]);
    }
  });

  test("two requests for one name: one of them gets it, whichever master they ask", async () => {
    const requested = await Promise.all(
      [first, second, first, second].map((master) =>
        rest(master, "POST", "/tokens", testToken, { name: "only-one", roles: ["viewer"] }),
      ),
    );
    expect(requested.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    expect(await rest(second, "DELETE", "/tokens/only-one", testToken)).toMatchObject({ status: 200 });
  });

  test("requests are recorded under the name of the token, and a token cannot make another", async () => {
    const { token } = await make(first, "robot", ["admin"]);
    const { status, json } = await rest(second, "POST", "/tokens", token, {
      name: "child",
      roles: ["viewer"],
    });
    expect([status, json]).toEqual([
      403,
      {
        error:
          "token:robot cannot create a token: it would outlive the one that asks; a registered operator can (svc token create)",
      },
    ]);
    const record = second.records.find(
      ({ event, fields }) => event === "http.request.complete" && fields.auth_username === "token:robot",
    );
    expect(record?.fields.status).toBe(403);
    for (const { records } of [first, second]) expect(JSON.stringify(records)).not.toContain(token);
    await rest(first, "DELETE", "/tokens/robot", testToken);
  });

  test("the last use is shown, by the hour", async () => {
    const { token } = await make(first, "used");
    await statusOf(second, token);
    const check = async () => {
      const { json } = await rest(first, "GET", "/tokens", testToken);
      const { tokens } = json as {
        tokens: { name: string; created_at: string; last_used_at?: string }[];
      };
      return tokens.find(({ name }) => name === "used");
    };
    const used = await until(check, (found) => found?.last_used_at !== undefined);
    // Of a token that was made in this hour, not before that.
    const hour = used?.last_used_at?.replace(/:\d\d:\d\d\.\d{3}Z$/, ":00:00.000Z");
    expect([used?.created_at, hour]).toContain(used?.last_used_at);
    await rest(first, "DELETE", "/tokens/used", testToken);
  });

  test("a record that no master made lets nobody in", async () => {
    const { token } = await make(first, "victim");
    const bucket = await openBucket(intruder, "tokens");
    const entry = await bucket.get("victim");
    await bucket.put("copy", entry?.value ?? new Uint8Array());
    await rest(first, "DELETE", "/tokens/victim", testToken);
    await bucket.put("victim", entry?.value ?? new Uint8Array());
    expect(await statusOf(first, token)).toBe(401);
    expect(await statusOf(second, token)).toBe(401);
  });
});

describe("svc token", () => {
  test("create prints the token alone; list shows it; revoke ends it", async () => {
    const made = await cli(
      bus,
      "token",
      "create",
      "--name",
      "pipe",
      "--role",
      "viewer, auditor",
      "--expires",
      "2h",
    );
    expect([made.exit, made.stdout]).toEqual([0, expect.stringMatching(/^svct_[A-Za-z0-9_-]{43}\n$/)]);
    expect(made.stderr).toMatch(
      /^pipe \(tok-\w{27}\) has the roles viewer, auditor until \S+\. Keep the token/,
    );
    const token = made.stdout.trim();
    expect([await statusOf(first, token), await statusOf(second, token)]).toEqual([200, 200]);
    const listed = await cli(bus, "token", "list", "--wide");
    expect(listed.stdout).toMatch(/NAME +ID +ROLES +STATE +BY +EXPIRES +LAST USE/);
    expect(listed.stdout).toMatch(/\npipe +tok-\w{27} +viewer,auditor +live /);
    expect(listed.stdout).not.toContain(token);
    const revoked = await cli(bus, "token", "revoke", "pipe");
    expect(revoked).toMatchObject({
      exit: 0,
      stdout: expect.stringMatching(/^revoked pipe \(tok-\w{27}\)\n$/),
    });
    expect([await statusOf(first, token), await statusOf(second, token)]).toEqual([401, 401]);
  });

  test.each([
    [["create", "--name", "Bad", "--role", "viewer"], /name must be 1 to 63 small letters/],
    [
      ["create", "--name", "a", "--role", "viewr"],
      /the role "viewr" does not exist \(did you mean viewer\?\)/,
    ],
    [["create", "--name", "a", "--role", "viewer,"], /--role: expected roles separated by commas/],
    [["create", "--name", "a", "--role", "viewer", "--expires", "2y"], /"2y" is not a duration/],
    [["revoke", "pip"], /the token "pip" does not exist \(did you mean pipe\?\)/],
  ] as const)("%p is refused in one line", async (argv, message) => {
    const { exit, stdout, stderr } = await cli(bus, "token", ...argv);
    expect([exit > 0, stdout, stderr.split("\n").length]).toEqual([true, "", 2]);
    expect(stderr).toMatch(message);
  });
});

test("what was acknowledged outlives a kill of the master that did it", async () => {
  for (let round = 0; round < 3; round++) {
    await using killed = await startMasterBinary(bus);
    const door = { url: killed.url, ca: bus.caPem };
    const headers = { authorization: `Bearer ${killed.token}`, "content-type": "application/json" };
    const requested = async (name: string) => {
      const body = JSON.stringify({ name, roles: ["viewer"] });
      const { json } = await call(door, { method: "POST", path: "/api/v1/tokens", headers, body });
      runRecord.register("token", (json as Made).token);
      return (json as Made).token;
    };
    await using heir = await startMasterBinary(bus);
    const [kept, gone] = [await requested(`kept-${round}`), await requested(`gone-${round}`)];
    const revoked = await call(door, { method: "DELETE", path: `/api/v1/tokens/gone-${round}`, headers });
    killed.program.kill("SIGKILL");
    expect(revoked.status).toBe(200);
    const statusAtHeir = async (token: string) =>
      (
        await call(
          { url: heir.url, ca: bus.caPem },
          { path: "/api/v1/enrollments", headers: { authorization: `Bearer ${token}` } },
        )
      ).status;
    expect([await statusAtHeir(kept), await statusAtHeir(gone)]).toEqual([200, 401]);
  }
});

test("what was acknowledged outlives a kill of the bus", async () => {
  const [kept, gone] = [await make(first, "kept"), await make(first, "gone")];
  await rest(second, "DELETE", "/tokens/gone", testToken);
  await bus.restart("SIGKILL");
  for (const master of [first, second]) {
    await until(async () => (await statusOf(master, kept.token)) === 200);
    expect(await statusOf(master, gone.token)).toBe(401);
  }
  await using third = await startMaster(bus);
  await until(async () => (await statusOf(third, kept.token)) === 200);
  expect(await statusOf(third, gone.token)).toBe(401);
});

test("a token of the bucket opens a master that has none in its configuration", async () => {
  await using bare = await startMaster(bus, { tokens: [] });
  const { token } = await make(first, "elsewhere");
  // Its creator is an entry of the configuration, which this master does not have.
  await until(async () => (await statusOf(bare, token)) === 401);
  const { stdout } = await cli(bus, "token", "create", "--name", "by-bus", "--role", "viewer");
  expect(await statusOf(bare, stdout.trim())).toBe(200);
});

test("tokens end by the clock of the master, those of files too", async () => {
  const clock = manualClock(systemClock.now());
  const file = join(bus.dir, "ending-token");
  writeFileSync(file, "ending-token-0123", { mode: 0o600 });
  const tokens = [
    { username: "tester", token_file: join(bus.dir, "token") },
    {
      username: "eve",
      token_file: file,
      roles: ["viewer"],
      expires: new Date(clock.now() + 3_600_000).toISOString(),
    },
  ];
  await using timed = await startMaster(bus, { clock, tokens });
  const { token } = await make(timed, "timed", ["viewer"], "2h");
  expect([await statusOf(timed, token), await statusOf(timed, "ending-token-0123")]).toEqual([200, 200]);
  clock.advance(3_600_000);
  const ended = await rest(timed, "GET", "/enrollments", "ending-token-0123");
  expect([ended.status, ended.text]).toEqual([401, expect.stringContaining("the token of eve expired at")]);
  expect(await statusOf(timed, token)).toBe(200);
  clock.advance(3_600_000);
  expect(await statusOf(timed, token)).toBe(401);
});
