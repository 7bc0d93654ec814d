import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import {
  type AnyOperation,
  bindings,
  clock,
  log,
  operations,
  routesThrough,
  servedThrough,
} from "../../../test/harness/every-door.ts";
import { freeBudgets } from "../../../test/harness/operator-budgets.ts";
import {
  type BuiltInRole,
  builtInRoles,
  mayUse,
  withoutOperation,
} from "../../../test/harness/role-table.ts";
import { SvcError } from "../../base/errors.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { createHandler } from "../../doors/rest/listener.ts";
import type { Route } from "../../doors/rest/route.ts";
import type { Gate, Touch } from "../../fleet/operation/operation.ts";
import { nameOfScope, scopes } from "../../fleet/operation/scope.ts";
import { builtIn } from "../../fleet/roles/built-in.ts";
import { createRoleGate } from "../../fleet/roles/gate.ts";

// Every subject and every route, for every built-in role. Here the operations take any input, and tell that they were
// reached.

const dir = mkdtempSync(join(tmpdir(), "svc-role-doors-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const token = join(dir, "token");
writeFileSync(token, "good", { mode: 0o600 });

let role: BuiltInRole = "viewer";
const stored = async () => ({ functions: ["test.ping"], peels: ["web-1"] });
const { authorize } = createRoleGate({
  book: () => builtIn,
  administrators: () => ["root"],
  resolve: async () => ["web-1"],
  jobOf: stored,
  rolloutOf: stored,
  labelsOf: async () => ({ labels: {}, former: {} }),
  isNewest: async () => true,
});
const gate: Gate = {
  async enter(passenger) {
    await authorize({ ...passenger, caller: { kind: "operator", name: "ann", door: "bus", roles: [role] } });
    return async () => {};
  },
};
const routes = routesThrough(gate);
const served = servedThrough(gate);

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
  const operation = operations.find((one) => one.name === name);
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
      const allowed = mayUse[nameOfScope(operation.scope) as keyof typeof mayUse];
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
  budgets: freeBudgets,
  metrics: { rateLimited: () => {}, connectionClosed: () => {}, httpRequest: () => {} },
  clock,
  log,
});
let requested = 0;
const requestRest = ({ method, path, body }: Route) =>
  handle({
    method,
    target: path.replace(/:[a-z]+/g, "x"),
    headers: new Headers({
      ...{ authorization: "Bearer good", "content-type": "application/json" },
      "sec-fetch-site": "same-origin",
    }),
    // Each from another address, because of the rate limits.
    ip: `192.0.2.${requested++}`,
    signal: new AbortController().signal,
    body: async () => Buffer.from(body !== undefined ? JSON.stringify(fields) : ""),
    keepOpen: () => {},
    prove() {},
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
      door.isAllowed() ? { code: "conflict", message: "reached" } : { code: "forbidden", message: refusal },
    );
    expect(door.run).toHaveBeenCalledTimes(door.isAllowed() ? 1 : 0);
  });

  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s",
    async (_, route) => {
      role = one;
      using door = reached(route.operation ?? "");
      const response = await requestRest(route);
      const { error } = (await response.json()) as { error: string };
      expect([response.status, error]).toEqual(
        door.isAllowed() ? [409, expect.stringContaining("reached")] : [403, refusal],
      );
      expect(door.run).toHaveBeenCalledTimes(door.isAllowed() ? 1 : 0);
    },
  );
});

test("every scope of an operation is in the table, and the others are those that have none", () => {
  const named = operations.flatMap(({ scope }) => (typeof scope === "string" ? [] : [nameOfScope(scope)]));
  expect(Object.keys(mayUse).sort()).toEqual([...new Set<string>(named)].sort());
  const all = Object.entries(scopes).flatMap(([kind, actions]) =>
    actions.map((action) => `${kind} ${action}`),
  );
  expect([...Object.keys(mayUse), ...withoutOperation].sort()).toEqual(all.sort());
});
