import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import { answeringBy } from "../../../test/harness/answering.ts";
import {
  type AnyBinding,
  type AnyOperation,
  bindings,
  clock,
  log,
  operationOf,
  operations,
  routes,
  served,
} from "../../../test/harness/every-door.ts";
import { digest, inputs, inputsOf } from "../../../test/harness/operation-inputs.ts";
import { freeBudgets } from "../../../test/harness/operator-budgets.ts";
import { SvcError } from "../../base/errors.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { readReply } from "../../doors/bus/bind.ts";
import { createHandler } from "../../doors/rest/listener.ts";
import type { Route } from "../../doors/rest/route.ts";
import { binaryOperations } from "../../fleet/binaries/mod.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { jobOperations } from "../../fleet/jobs/mod.ts";
import { feed } from "../../fleet/operation/feed.ts";
import { namePeels } from "../../fleet/operation/name-peels.ts";

// Every operation through every door that binds it: what each refuses, and how each answers. What an
// operation does is tested next to it; here it returns samples of its schema.

const dir = mkdtempSync(join(tmpdir(), "svc-doors-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const token = join(dir, "token");
writeFileSync(token, "good", { mode: 0o600 });

const answering = (name: string) => answeringBy(operationOf(name));

describe("over REST", () => {
  let requested = 0;
  const { handle } = createHandler({
    routes,
    tokens: [{ username: "ann", token_file: token }],
    budgets: freeBudgets,
    metrics: { rateLimited: () => {}, connectionClosed: () => {}, httpRequest: () => {} },
    clock,
    log,
  });
  const send = (route: Route, fields: Record<string, Plain>, authorization = "Bearer good") => {
    const inPath = [...route.path.matchAll(/:([a-z]+)/g)].map(([, name = ""]) => name);
    const path = route.path.replace(/:([a-z]+)/g, (_, name: string) => String(fields[name]));
    const rest = Object.entries(fields).filter(([name]) => !inPath.includes(name));
    const query = new URLSearchParams(
      rest.flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)])),
    );
    const inQuery = route.body === undefined;
    const own = { "content-type": "application/json", "sec-fetch-site": "same-origin" };
    const headers = new Headers({ authorization, ...own });
    return handle({
      method: route.method,
      target: inQuery && rest.length > 0 ? `${path}?${query}` : path,
      headers,
      // Each from another address, because of the rate limits.
      ip: `192.0.2.${requested++}`,
      signal: new AbortController().signal,
      body: async () => Buffer.from(inQuery ? "" : JSON.stringify(Object.fromEntries(rest))),
      keepOpen: () => {},
      prove() {},
    });
  };

  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s",
    async (_, route) => {
      const name = route.operation ?? "";
      const [fields, wrong] = inputsOf(operationOf(name));
      using doing = answering(name);
      // Public routes ignore unknown parameters.
      if (route.method !== "GET" || route.auth === "bearer") {
        const unknown = await send(route, { ...fields, forse: 1 });
        expect([unknown.status, await unknown.json()]).toEqual([
          400,
          { error: expect.stringContaining('unknown key "forse"') },
        ]);
      }
      const inPath = (one: string) => route.path.includes(`:${one}`);
      for (const [field, value] of Object.entries(wrong).filter(([one]) => !inPath(one))) {
        const refused = await send(route, { ...fields, [field]: value });
        expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(`"${field}`)]);
      }
      if (route.auth === "bearer") expect((await send(route, fields, "Bearer bad")).status).toBe(401);
      expect(doing.spy).not.toHaveBeenCalled();
      // A submission is valid only with matching keys and signatures.
      if (name === "enrollments.submit") return;

      const response = await send(route, fields);
      const reported = Object.entries(route.doc.responses).find(
        ([status]) => Number(status) === response.status,
      );
      expect(reported).toBeDefined();
      expect(doing.spy.mock.calls).toHaveLength(1);
      expect(doing.spy.mock.calls[0]?.[1]).toMatchObject(fields);
      const kind = { none: "anonymous", nkey: "peel", bearer: "operator" }[route.auth];
      expect(doing.spy.mock.calls[0]?.[2]).toMatchObject({ caller: { kind, door: "rest" } });
      if (doing.isFeed) {
        expect(response.headers.get("content-type")).toBe("text/event-stream");
        return response.body?.cancel();
      }
      const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
        reported?.[1].schema ?? false,
      );
      expect([validate(await response.json()), validate.errors]).toEqual([true, null]);
    },
  );

  test("a refusal with a known solution names it in the words of this door", async () => {
    const route = routes.find(({ operation }) => operation === "enrollments.approve");
    if (route === undefined) throw new Error("no route approves");
    using doing = answering("enrollments.approve");
    doing.spy.mockImplementation(async () => {
      throw new SvcError("trust_mismatch", "another root");
    });
    const refused = await send(route, { id: "enr-1" });
    expect([refused.status, await refused.json()]).toEqual([
      409,
      { error: 'another root; approve it anyway with {"force": true}' },
    ]);
  });

  test("every route binds an operation", () => {
    expect(routes.filter(({ operation }) => operation === undefined)).toEqual([]);
  });
});

describe("over the bus", () => {
  const send = async (
    { bus: { subject, token = "" } }: AnyBinding,
    { [token]: at, ...fields }: Record<string, Plain>,
  ) => {
    const data = encode({ operator: "ann", request_id: "r-1", ...fields });
    const reply = await served.get(subject)?.(data, subject.replace("*", String(at)));
    return reply ?? new Uint8Array();
  };

  test.each(bindings.map((binding) => [binding.bus.subject, binding] as const))("%s", async (_, binding) => {
    const { name } = binding.operation as AnyOperation;
    const [fields, wrong] = inputsOf(operationOf(name));
    using doing = answering(name);
    const refusedFor = (what: string) => ({
      ok: false,
      error: { code: "bad_request", message: expect.stringContaining(what) },
    });
    expect(decode(await send(binding, { ...fields, forse: 1 }))).toEqual(refusedFor('unknown key "forse"'));
    for (const [field, value] of Object.entries(wrong)) {
      expect(decode(await send(binding, { ...fields, [field]: value }))).toEqual(refusedFor(field));
    }
    for (const operator of ["", 5, "a".repeat(257)]) {
      expect(decode(await send(binding, { ...fields, operator }))).toEqual(refusedFor("operator must be"));
    }
    expect(
      decode((await served.get(binding.bus.subject)?.(encode([1]), binding.bus.subject)) ?? new Uint8Array()),
    ).toEqual(refusedFor("must be a MessagePack map"));
    expect(doing.spy).not.toHaveBeenCalled();

    const reply = await send(binding, fields);
    expect(doing.spy.mock.calls[0]?.[1]).toMatchObject(fields);
    // Its answer comes in parts, which the door has not been given.
    if (binding.operation.output === feed) return expect(reply).toHaveLength(0);
    const { reply: shown = Object.keys(doing.answer) } = binding.bus as { reply?: readonly string[] };
    const expected = Object.fromEntries(shown.map((one) => [one, doing.answer[one]]));
    expect(decode(reply)).toEqual({ ok: true, ...expected } as never);
    expect(readReply(binding, reply)).toEqual(namePeels(binding.operation.output, expected) as never);
    expect(doing.spy.mock.calls[0]?.[2]).toMatchObject({
      caller: { kind: "operator", name: "ann", door: "bus" },
      requestId: "r-1",
    });
  });

  test("every subject that is served belongs to a binding, and every binding is served", () => {
    const both = bindings.flatMap(({ bus: { subject } }) => [subject, `svc.op.*.${subject}`]);
    expect([...served.keys()].sort()).toEqual(both.sort());
  });

  test("fields that clients of the previous version send with each decision are accepted", async () => {
    const { approveEnrollment, rejectEnrollment, revokeEnrollment } = enrollmentOperations;
    const decisions = [approveEnrollment, rejectEnrollment, revokeEnrollment];
    for (const binding of decisions as unknown as AnyBinding[]) {
      using doing = answering((binding.operation as AnyOperation).name);
      const request = { id: "enr-1", force: true, reason: "because" };
      expect(decode(await send(binding, request))).toMatchObject({ ok: true });
      expect(doing.spy).toHaveBeenCalledTimes(1);
    }
    const put = binaryOperations.putChunk as unknown as AnyBinding;
    using __ = answering("binaries.put");
    const data = encode({ digest, data: Buffer.from("x") });
    expect(decode((await served.get(put.bus.subject)?.(data, put.bus.subject)) ?? new Uint8Array())).toEqual({
      ok: true,
    });
  });

  test("a list is as long as its page may be over the bus", async () => {
    using doing = answering("jobs.list");
    const list = jobOperations.listJobs as unknown as AnyBinding;
    expect(decode(await send(list, { limit: 1_001 }))).toMatchObject({
      error: { message: "limit must be 1 to 1000" },
    });
    await send(list, {});
    expect(doing.spy.mock.calls[0]?.[1]).toMatchObject({ limit: 20 });
  });
});

test("an operation is public exactly when operators are not admitted", () => {
  for (const { name, scope, admits } of operations) {
    expect([name, scope === "public"]).toEqual([name, !admits.includes("operator")]);
  }
});

test("every operation is bound by a door, under a name of its own", () => {
  const names = operations.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(Object.keys(inputs).filter((name) => !names.some((one) => one === name))).toEqual([]);
  const bound = [
    ...routes.map(({ operation }) => operation),
    ...bindings.map(({ operation }) => (operation as AnyOperation).name),
  ];
  expect(names.filter((name) => !bound.includes(name))).toEqual([]);
});
