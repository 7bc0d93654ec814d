import { afterAll, expect, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
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
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { SvcError } from "../../base/errors.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { createHandler } from "../../doors/rest/listener.ts";
import type { Gate, InputSchema } from "../../fleet/operation/operation.ts";
import { builtIn } from "../../fleet/roles/built-in.ts";
import { createRoleGate } from "../../fleet/roles/gate.ts";

// Which peels a target with I@ means says what is in their settings. So every door that takes a target refuses it
// to a caller who may do everything else.

const admin = builtIn.get("admin");
if (admin === undefined) throw new Error("there is no role admin");
const blind = { ...admin, name: "blind", grants: admin.grants.filter(({ kind }) => kind !== "settings") };
/** Targets that were resolved for someone. */
const resolved: string[] = [];
const { authorize } = createRoleGate({
  book: () => new Map([...builtIn, ["blind", blind]]),
  administrators: () => ["root"],
  async resolve(target) {
    if ("expression" in target) resolved.push(target.expression);
    return ["web-1"];
  },
  jobOf: async () => undefined,
  rolloutOf: async () => undefined,
  labelsOf: async () => ({ labels: {}, former: {} }),
  isNewest: async () => true,
});
let role = "blind";
const gate: Gate = {
  async enter(passenger) {
    await authorize({ ...passenger, caller: { kind: "operator", name: "ann", door: "bus", roles: [role] } });
    return async () => {};
  },
};
const routes = routesThrough(gate);
const served = servedThrough(gate);
const dir = temporaryDirectory("svc-filter-doors");
afterAll(() => dir[Symbol.dispose]());
const token = join(dir.path, "token");
writeFileSync(token, "good", { mode: 0o600 });
const { handle } = createHandler({
  ...{ routes, tokens: [{ username: "ann", token_file: token }], clock, log },
  budgets: freeBudgets,
  metrics: { rateLimited: () => {}, connectionClosed: () => {}, httpRequest: () => {} },
});

/** It compares the text of the target with that of jobs, and resolves nothing. */
const comparesTexts = new Set(["jobs.list"]);
/** It answers for the caller and calls the gate itself; see `operations.test.ts` of the roles. */
const judgesItself = new Set(["roles.can"]);
const taking = operations.filter(
  ({ name, input }) =>
    Object.hasOwn((input as InputSchema).entries, "target") &&
    !comparesTexts.has(name) &&
    !judgesItself.has(name),
);

test("these operations take a target", () => {
  expect(taking.map(({ name }) => name).sort()).toEqual([
    "exports.inventory",
    "exports.prometheus",
    "facts.count",
    "facts.find",
    "jobs.create",
    "peels.list",
    "rollouts.start",
    "states.drift",
    "states.plan",
    "states.send-plan",
    "states.status",
    "targets.resolve",
  ]);
});

/** Takes any input, and fails in its own way when it is reached. What it says of its target is its own. */
function reached(operation: AnyOperation) {
  const { input } = operation;
  Object.assign(operation, { input: v.looseObject({}) });
  const run = spyOn(operation as { run(...args: unknown[]): Promise<unknown> }, "run").mockImplementation(
    async () => {
      throw new SvcError("conflict", "reached");
    },
  );
  return {
    [Symbol.dispose]() {
      Object.assign(operation, { input });
      run.mockRestore();
    },
  };
}

const filters = ["I@db_password:a*", "web-* and not (I@db_password:a*)", "I'@db_password:a*'"];
/** The same rights, and nothing of settings in the target. */
const harmless = "G@os:I@a*";
const rest = { function: "test.ping", name: "x", version: "1" };

test.each(
  bindings.flatMap((binding) => {
    const found = taking.find(({ name }) => name === (binding.operation as AnyOperation).name);
    return found === undefined ? [] : [[binding.bus.subject, found] as const];
  }),
)("over the bus: %s", async (subject, operation) => {
  using _ = reached(operation);
  const send = async (target: string) => {
    const data = encode({ ...rest, target, operator: "ann" });
    const reply = await served.get(subject)?.(data, subject.replace("*", "x"));
    return (decode(reply ?? new Uint8Array()) as { error: { code: string; message: string } }).error;
  };
  resolved.length = 0;
  for (const target of filters) {
    expect(await send(target)).toEqual({
      code: "forbidden",
      message:
        "ann (role blind) may not do this: I@ in a target reads settings: no rule allows settings render; ask an operator with role admin or operator, such as root",
    });
  }
  expect(resolved).toEqual([]);
  expect(await send(harmless)).toEqual({ code: "conflict", message: "reached" });
  role = "admin";
  for (const target of filters) expect(await send(target)).toEqual({ code: "conflict", message: "reached" });
  role = "blind";
});

test.each(
  routes.flatMap((route) => {
    const found = taking.find(({ name }) => name === route.operation);
    return found === undefined ? [] : [[`${route.method} ${route.path}`, route, found] as const];
  }),
)("over HTTPS: %s", async (_name, { method, path, body }, operation) => {
  using _ = reached(operation);
  const send = async (target: string) => {
    const fields = { ...rest, target };
    const query = body === undefined ? `?target=${encodeURIComponent(target)}` : "";
    const response = await handle({
      method,
      target: `${path.replace(/:[a-z]+/g, "x")}${query}`,
      headers: new Headers({ authorization: "Bearer good", "content-type": "application/json" }),
      ip: "192.0.2.1",
      signal: new AbortController().signal,
      body: async () => Buffer.from(body === undefined ? "" : JSON.stringify(fields)),
      keepOpen: () => {},
      prove() {},
    });
    return [response.status, await response.text()] as const;
  };
  for (const target of filters) {
    expect(await send(target)).toEqual([403, expect.stringContaining("no rule allows settings render")]);
  }
  expect(await send(harmless)).toEqual([409, expect.stringContaining("reached")]);
});
