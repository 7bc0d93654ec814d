import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import {
  bearer,
  call,
  decide,
  enrollNew,
  enrollOnce,
  listEnrollments,
  newEnrollee,
  postJson,
} from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";

// The operator's REST API: who may call it, and what the list of enrollments says.

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

interface Summary {
  peel?: string;
  id: string;
  peel_id: string;
  hostname: string;
  state: string;
  created_at: string;
  trust: string;
  fingerprint: string;
  address?: string;
}

describe("tokens", () => {
  test("a missing or wrong one is 401 as JSON, logged, and not repeated", async () => {
    for (const authorization of [undefined, "", "Bearer", "Bearer wrong-9f8e7d", "Basic dGVzdGVyOnRlc3Q="]) {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const reply = await call(master, {
        path: "/api/v1/enrollments",
        headers: { ...headers, "x-request-id": "the-request-of-nobody" },
      });
      expect(reply.status).toBe(401);
      expect(Object.keys(reply.json as object)).toEqual(["error"]);
    }
    const refused = master.records.filter(({ event }) => event === "http.request.unauthorized");
    expect(refused).toHaveLength(5);
    for (const { level, fields } of refused) {
      expect(level).toBe("warn");
      expect(fields).toMatchObject({
        request_id: "the-request-of-nobody",
        method: "GET",
        path: "/api/v1/enrollments",
        remote_ip: expect.stringMatching(/^127\./),
      });
    }
    expect(JSON.stringify(master.records)).not.toContain("wrong-9f8e7d");
  });

  test("a refused request is not looked at any further", async () => {
    const reply = await postJson(master, "/api/v1/jobs", "{{{{", { headers: { authorization: "Bearer x" } });
    expect(reply.status).toBe(401);
    const unknown = await call(master, { method: "POST", path: "/api/v1/enrollments/enr-x/approve" });
    expect(unknown.status).toBe(401);
  });

  test("the file is read at each request, so that a token rotates without a restart", async () => {
    const path = join(bus.dir, "rotating-token");
    writeFileSync(path, "first\n", { mode: 0o600 });
    const tokens = [
      { username: "ann", token_file: path },
      { username: "bob", token_file: join(bus.dir, "token") },
    ];
    await using rotating = await startMaster(bus, { tokens });
    const status = async (token: string) =>
      (await call(rotating, { path: "/api/v1/enrollments", headers: { authorization: `Bearer ${token}` } }))
        .status;
    expect([await status("first"), await status("second")]).toEqual([200, 401]);
    writeFileSync(path, "second\n");
    expect([await status("first"), await status("second")]).toEqual([401, 200]);
    rmSync(path);
    expect([await status("first"), await status("second")]).toEqual([401, 401]);
    expect((await listEnrollments(rotating)).status).toBe(200);
    writeFileSync(path, "third");
    expect(await status("third")).toBe(200);
    const usernames = rotating.records
      .filter(({ event }) => event === "http.request.complete")
      .map(({ fields }) => fields.auth_username);
    expect(usernames).toEqual(["ann", undefined, undefined, "ann", undefined, undefined, "bob", "ann"]);
  });

  test("the name of the token's owner is the decider", async () => {
    const path = join(bus.dir, "token-of-carol");
    writeFileSync(path, "carols", { mode: 0o600 });
    await using carols = await startMaster(bus, { tokens: [{ username: "carol", token_file: path }] });
    const id = await enrollNew(carols, newEnrollee());
    const reply = await call(carols, {
      method: "POST",
      path: `/api/v1/enrollments/${id}/approve`,
      headers: { authorization: "Bearer carols" },
    });
    expect(reply.json).toMatchObject({ state: "approved", DecidedBy: "carol" });
    expect(carols.records).toContainEqual(
      expect.objectContaining({
        event: "enrollment approved",
        fields: expect.objectContaining({ operator: "carol", enrollment_id: id }),
      }),
    );
  });

  test("a file that others can read, or nobody, is warned of at the start; the master starts all the same", async () => {
    const open = join(bus.dir, "open-token");
    const gone = join(bus.dir, "no-such-token");
    writeFileSync(open, "for-all", { mode: 0o640 });
    const tokens = [
      { username: "open", token_file: open },
      { username: "gone", token_file: gone },
    ];
    await using careless = await startMaster(bus, { tokens });
    const warned = careless.records.filter(
      ({ level, event }) => level === "warn" && event.includes("token file"),
    );
    expect(warned.map(({ fields }) => fields.path)).toEqual([open, gone]);
    expect(JSON.stringify(careless.records)).not.toContain("for-all");
  });

  test("without any token the routes are not there", async () => {
    await using bare = await startMaster(bus, { tokens: [] });
    for (const path of ["/api/v1/enrollments", "/api/v1/jobs", "/api/v1/jobs/job-x"]) {
      const reply = await call(bare, { path, headers: bearer });
      expect([reply.status, reply.json]).toEqual([404, { error: "not found" }]);
    }
    const id = await enrollNew(bare, newEnrollee());
    expect((await decide(bare, "approve", id)).status).toBe(404);
  });
});

describe("the bodies of decisions", () => {
  test.each([
    ["not JSON", "{", 400],
    ["no object", "[1]", 400],
    ["a text", '"x"', 400],
    ["null", "null", 400],
    ["a reason that is no text", '{"reason": 5}', 400],
    ["a reason that is too long", JSON.stringify({ reason: "a".repeat(1025) }), 400],
    ["more than 4 KB", JSON.stringify({ reason: "a".repeat(5000) }), 413],
  ])("%s: refused, and nothing is decided", async (_, body, status) => {
    const id = await enrollNew(master, newEnrollee());
    const headers = { ...bearer, "content-type": "application/json" };
    const path = `/api/v1/enrollments/${id}/reject`;
    expect((await call(master, { method: "POST", path, headers, body })).status).toBe(status);
    expect((await decide(master, "reject", id)).status).toBe(200);
  });

  test("a body without a content type is 415, and an empty one needs none", async () => {
    const id = await enrollNew(master, newEnrollee());
    const path = `/api/v1/enrollments/${id}/reject`;
    const request = { method: "POST", path, headers: bearer };
    expect((await call(master, { ...request, body: "{}" })).status).toBe(415);
    expect((await call(master, request)).status).toBe(200);
  });
});

describe("the list", () => {
  let own: TestBus;
  let listing: TestMaster;
  const ids: string[] = [];

  beforeAll(async () => {
    own = await startBus();
    listing = await startMaster(own);
    for (let n = 0; n < 12; n++) {
      const more = n === 0 ? { hostname: "web-0.example" } : {};
      ids.unshift(((await enrollOnce(listing, newEnrollee(`list-${n}_x`), more)).json as Summary).id);
    }
    await decide(listing, "approve", ids[0] ?? "");
    await decide(listing, "reject", ids[1] ?? "");
  });
  afterAll(async () => {
    await listing?.[Symbol.asyncDispose]();
    await own?.[Symbol.asyncDispose]();
  });
  const idsOf = async (query: string) =>
    ((await listEnrollments(listing, query)).json as Summary[]).map(({ id }) => id);

  test("is an array of summaries of pending enrollments, newest first", async () => {
    const list = (await listEnrollments(listing)).json as Summary[];
    expect(list.map(({ id }) => id)).toEqual(ids.slice(2));
    expect(list.at(-1)).toEqual({
      id: ids.at(-1) ?? "",
      peel: "list-0.x",
      peel_id: "list-0_x",
      hostname: "web-0.example",
      state: "pending",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as never,
      trust: "-",
      fingerprint: expect.stringMatching(/^[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}$/) as never,
      address: expect.stringMatching(/^127\.\d+\.\d+\.\d+$/) as never,
    });
  });

  test("is filtered by state", async () => {
    expect(await idsOf("?state=pending")).toEqual(ids.slice(2));
    expect(await idsOf("?state=approved")).toEqual(ids.slice(0, 1));
    expect(await idsOf("?state=rejected")).toEqual(ids.slice(1, 2));
    expect(await idsOf("?state=all")).toEqual(ids);
    for (const state of ["issued", "active", "revoked"]) expect(await idsOf(`?state=${state}`)).toEqual([]);
  });

  test("picks those with some ids, if they are in this state", async () => {
    const some = [ids[0], ids[3], "enr-no-such", ids[3]].map((id) => `ids=${id}`).join("&");
    expect((await idsOf(`?state=all&${some}`)).toSorted()).toEqual([ids[0], ids[3]].toSorted() as string[]);
    expect(await idsOf(`?state=pending&${some}`)).toEqual(ids.slice(3, 4));
    expect(await idsOf(`?state=pending&ids=${ids[0]}`)).toEqual([]);
    const many = Array.from({ length: 1_001 }, () => "ids=a").join("&");
    expect((await call(listing, { path: `/api/v1/enrollments?${many}`, headers: bearer })).status).toBe(400);
  });

  test.each([1, 4, 5, 11, 12, 13])("by pages of %i is the same list", async (limit) => {
    const seen: string[] = [];
    let path: string | undefined = `/api/v1/enrollments?state=all&limit=${limit}`;
    let pages = 0;
    while (path !== undefined) {
      const reply = await call(listing, { path, headers: bearer });
      expect(reply.status).toBe(200);
      const page = reply.json as Summary[];
      expect(page.length).toBeLessThanOrEqual(limit);
      seen.push(...page.map(({ id }) => id));
      pages++;
      const link = reply.headers.link;
      path = link === undefined ? undefined : /^<(\/[^>]+)>; rel="next"$/.exec(String(link))?.[1];
      if (link !== undefined) expect(path).toBeDefined();
    }
    expect(seen).toEqual(ids);
    expect(pages).toBe(Math.ceil(12 / limit));
  });

  test.each([
    "state=",
    "state=PENDING",
    "state=lost",
    "limit=0",
    "limit=-1",
    "limit=5001",
    "limit=ten",
    "limit=1.5",
    "limit=",
    "limit=99999",
    "cursor=",
    "cursor=x",
    `cursor=enr-${"a".repeat(27)}`,
  ])("refuses ?%s", async (query) => {
    const reply = await listEnrollments(listing, `?${query}`);
    expect(reply.status).toBe(400);
    expect((reply.json as { error: string }).error).toStartWith(query.split("=")[0] ?? "");
  });

  test("follows every write at once", async () => {
    for (let n = 0; n < 20; n++) {
      const id = await enrollNew(listing, newEnrollee());
      expect((await idsOf("?limit=1"))[0]).toBe(id);
      await decide(listing, "approve", id);
      expect((await idsOf("?state=approved&limit=1"))[0]).toBe(id);
    }
  });
});
