import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import * as v from "valibot";
import { manualClock } from "../../../test/harness/clock.ts";
import { joinedRooms } from "../../../test/harness/joined-rooms.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { type BuiltInRole, builtInRoles, mayUse } from "../../../test/harness/role-table.ts";
import { SvcError } from "../../base/errors.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/mod.ts";
import type { Gate, Operation, Touch } from "../../fleet/operation/operation.ts";
import { type BusBinding, serve } from "../../fleet/over-bus/bind.ts";
import { builtIn } from "../../fleet/roles/built-in.ts";
import { createRoleGate } from "../../fleet/roles/gate.ts";
import { httpDoor, routesOf } from "../doors/http/bind.ts";
import { createHandler } from "../doors/http/listener.ts";
import type { Route } from "../doors/http/route.ts";

// Every subject and every route, for every built-in role. Operations, bindings and routes are found in the source, so
// that a new one is not forgotten. Here they take any input, and tell that they were reached.

type AnyOperation = Operation<never, never, v.GenericSchema>;
type AnyBinding = BusBinding<never, never, never, never>;

const root = join(import.meta.dir, "../..");
const exportsOf = async (pattern: string): Promise<[name: string, value: unknown][]> => {
  const files = [...new Glob(pattern).scanSync(root)].filter((name) => !name.includes(".test.")).sort();
  const modules = await Promise.all(files.map((name) => import(join(root, name))));
  return modules.flatMap((one) => Object.entries(one));
};

const operations = new Set(
  (await exportsOf("fleet/*/*operation*.ts"))
    .map(([, value]) => value)
    .filter((value): value is AnyOperation => Object.hasOwn(Object(value), "touches")),
);

const clock = manualClock();
const log = recordingLog();
const dir = mkdtempSync(join(tmpdir(), "svc-role-doors-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const token = join(dir, "token");
writeFileSync(token, "good", { mode: 0o600 });
/** Dependencies that nothing may use: the operations do not run. */
const none = new Proxy(() => none, { get: (_, name) => (name === "clock" ? clock : none) }) as never;

let role: BuiltInRole = "viewer";
const stored = async () => ({ functions: ["test.ping"], peels: ["web-1"] });
const { authorize } = createRoleGate({
  book: () => builtIn,
  administrators: () => ["root"],
  resolve: async () => ["web-1"],
  jobOf: stored,
  rolloutOf: stored,
});
const gate: Gate = {
  async enter(passenger) {
    await authorize({ ...passenger, caller: { kind: "operator", name: "ann", door: "bus", roles: [role] } });
    return async () => {};
  },
};

const https = httpDoor({ clock, gate });
const routes = (await exportsOf("master/doors/http/*-routes.ts"))
  .filter(([name]) => name.endsWith("Routes") && name !== "docsRoutes")
  .flatMap(([, make]) => (make as (door: typeof https, deps: never) => Route[])(https, none))
  .concat(joinedRooms.flatMap((room) => routesOf(https, room, none)));

const bindings = [
  ...(await exportsOf("fleet/over-bus/*.ts"))
    .filter(([name]) => name.endsWith("OverBus"))
    .map(([, found]) => (typeof found === "function" ? found("master-1") : found)),
  ...joinedRooms,
].flatMap((room) => Object.values(room as Record<string, AnyBinding>));
type Answer = Parameters<Bus["serve"]>[2];
const served = new Map<string, (data: Uint8Array, subject: string) => ReturnType<Answer>>();
for (const binding of bindings) {
  const bus = {
    serve(subject: string, _: string, answer: Answer) {
      served.set(subject, (data, at) => answer(data, at, { reply: "_INBOX.test" }));
      return { stop: () => {} };
    },
  };
  serve({ bus, clock, log, gate }, binding as never, none);
}

const touchOf = ({ scope }: AnyOperation): Touch => {
  if (typeof scope === "string") return { fleet: true };
  if (scope.kind === "jobs" && scope.action === "run") return { peels: { expression: "*" } };
  if (scope.kind === "rollouts" && scope.action === "start") return { peels: { expression: "*" } };
  return scope.kind === "jobs"
    ? { job: "job-1" }
    : scope.kind === "rollouts"
      ? { rollout: "rol-1" }
      : { fleet: true };
};

/** Makes an operation take any input, and fail in its own way when it is reached. */
function reached(name: string) {
  const operation = [...operations].find((one) => one.name === name);
  if (operation === undefined) throw new Error(`${name} is in no room`);
  const { input } = operation;
  Object.assign(operation, { input: v.looseObject({}) });
  const run = spyOn(operation as { run(...args: unknown[]): Promise<unknown> }, "run").mockImplementation(
    async () => {
      throw new SvcError("conflict", "reached");
    },
  );
  const touches = spyOn(operation as { touches(...args: unknown[]): Touch }, "touches").mockReturnValue(
    touchOf(operation),
  );
  return {
    /** Whether the role may use it, as the table has it. */
    isAllowed: () => {
      if (operation.scope === "public" || operation.scope === "self") return true;
      const allowed = mayUse[name];
      if (allowed === undefined) throw new Error(`${name} is not in test/harness/role-table.ts: add it`);
      return allowed.includes(role);
    },
    run,
    [Symbol.dispose]() {
      Object.assign(operation, { input });
      run.mockRestore();
      touches.mockRestore();
    },
  };
}

const fields = { function: "test.ping", target: "*" };
const { handle } = createHandler({
  routes,
  tokens: [{ username: "ann", token_file: token }],
  metrics: { rateLimited: () => {}, httpRequest: () => {} },
  clock,
  log,
});
let asked = 0;
const askRest = ({ method, path, body }: Route) =>
  handle({
    method,
    target: path.replace(/:[a-z]+/g, "x"),
    headers: new Headers({
      ...{ authorization: "Bearer good", "content-type": "application/json" },
      "sec-fetch-site": "same-origin",
    }),
    // Each from another address, because of the rate limits.
    ip: `192.0.2.${asked++}`,
    signal: new AbortController().signal,
    body: async () => Buffer.from(body !== undefined ? JSON.stringify(fields) : ""),
    keepOpen: () => {},
  });

describe.each([...builtInRoles])("the role %s", (one) => {
  // The caller, what is missing, and who can grant it.
  const refusal = expect.stringMatching(
    new RegExp(
      `^ann \\(role ${one}\\) may not do this: no rule allows [a-z-]+( [a-z-]+|\\.[a-z]+); ask an operator with role admin( or [a-z]+|, [a-z]+ or [a-z]+)?, such as root$`,
    ),
  );

  test.each(bindings.map((binding) => [binding.bus.subject, binding] as const))("%s", async (_, binding) => {
    role = one;
    const { name } = binding.operation as AnyOperation;
    using door = reached(name);
    const data = encode({ ...fields, operator: "ann" });
    const reply = await served.get(binding.bus.subject)?.(data, binding.bus.subject.replace("*", "x"));
    const { error } = decode(reply ?? new Uint8Array()) as { error: { code: string; message: string } };
    expect(error).toEqual(
      door.isAllowed()
        ? { code: "invalid_transition", message: "reached" }
        : { code: "forbidden", message: refusal },
    );
    expect(door.run).toHaveBeenCalledTimes(door.isAllowed() ? 1 : 0);
  });

  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s",
    async (_, route) => {
      role = one;
      using door = reached(route.operation ?? "");
      const response = await askRest(route);
      const { error } = (await response.json()) as { error: string };
      expect([response.status, error]).toEqual(
        door.isAllowed() ? [409, expect.stringContaining("reached")] : [403, refusal],
      );
      expect(door.run).toHaveBeenCalledTimes(door.isAllowed() ? 1 : 0);
    },
  );
});

test("the table names every operation with a scope and no other, and each has a door", () => {
  const scoped = [...operations].filter(({ scope }) => typeof scope !== "string").map(({ name }) => name);
  expect(Object.keys(mayUse).sort()).toEqual(scoped.sort());
  const bound = new Set([
    ...routes.map(({ operation }) => operation),
    ...bindings.map(({ operation }) => (operation as AnyOperation).name),
  ]);
  expect(scoped.filter((name) => !bound.has(name))).toEqual([]);
});
