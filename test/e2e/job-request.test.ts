import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020.js";
import fc from "fast-check";
import type { ApiText } from "../harness/api-text.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { bearer, call, postJson } from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";

// What the API description says of a request is what a running master takes.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus, { flags: ["--api-docs"] });
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("a request for a job is refused exactly when the description refuses it", async () => {
  const description = (await call(master, { path: "/api/v1/openapi.json" })).json as ApiText;
  const validate = new Ajv2020({ strict: false }).compile(
    JSON.parse(
      JSON.stringify({
        $ref: "#/components/schemas/JobRequest",
        components: description.components,
      }),
    ),
  );
  // Of each field what it may be, and what it may not. Nobody knows these peels, so what is not refused is 404. A
  // schema cannot say how long 24h are, nor what the arguments of a function are.
  const field = (good: readonly unknown[], bad: readonly unknown[]) =>
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...good) },
      { weight: 1, arbitrary: fc.constantFrom(...bad) },
    );
  const absent = (of: fc.Arbitrary<unknown>) => fc.option(of, { nil: undefined, freq: 2 });
  const bodies = fc.record({
    target: absent(field(["nobody", "none*"], ["", 7, null, ["nobody"]])),
    targets: absent(field([["nobody"], ["nobody", "none"]], [[], "nobody", [7], null])),
    function: field(["test.ping"], [undefined, "", 7, null]),
    args: absent(field([{}], [[], "a", 7, null])),
    timeout: absent(field(["90s", "1h30m", "24h", "1m"], ["", "soon", "-1s", "60", 60, null])),
    metadata: absent(field([{}, { ticket: 7, of: [1, { a: null }] }], [[], "x", null])),
    targets_digest: absent(field(["0".repeat(64)], ["0", "A".repeat(64), null])),
    approvals: absent(field([0], [-1, 17, 1.5, "1", null])),
    follow: absent(field([true, false], ["true", 1, null])),
    more: fc.constantFrom(undefined, undefined, undefined, undefined, 1, null),
  });
  const differing: string[] = [];
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const sent = JSON.parse(JSON.stringify(body));
      const { status, json } = await postJson(master, "/api/v1/jobs", sent, { headers: bearer });
      const isRefused = status === 400;
      if (validate(sent) === isRefused)
        differing.push(`${status} ${JSON.stringify(sent)} ${JSON.stringify(json)}`);
    }),
    { numRuns: 400 },
  );
  expect(differing).toEqual([]);
});
