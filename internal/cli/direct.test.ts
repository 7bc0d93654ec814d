import { expect, test } from "bun:test";
import * as v from "valibot";
import { manualClock } from "../../test/harness/clock.ts";
import { SvcError } from "../base/errors.ts";
import { operation, operatorOf } from "../fleet/operation/operation.ts";
import { runDirectly } from "./direct.ts";
import { operatorName } from "./operator.ts";

const decide = operation({
  name: "rollouts.show",
  kind: "decide",
  summary: "Decide",
  admits: ["operator"],
  scope: { kind: "rollouts", action: "show" },
  input: v.strictObject({ id: v.string() }),
  output: v.object({ by: v.string() }),
  touches: () => ({ fleet: true }),
  async run(_: object, { id }, call) {
    call.log.info("decided", { id, operator: operatorOf(call), door: call.caller.door });
    if (id !== "good") throw new SvcError("not_found", "no such thing");
    return { by: operatorOf(call) };
  },
});

function run(id: string) {
  const written: string[] = [];
  const stderr = { write: (text: string) => written.push(text) };
  return {
    written,
    done: runDirectly(
      { operation: decide, hints: { svc: { not_found: "see svc rollout list" } } },
      {},
      { id },
      { clock: manualClock(), stderr },
    ),
  };
}

test("what is done without a master is recorded on standard error, with the name of the operator", async () => {
  const { written, done } = run("good");
  expect(await done).toEqual({ by: operatorName() });
  expect(written).toEqual([
    `2026-01-01T00:00:00.000Z INFO  decided id=good operator=${operatorName()} door=direct\n`,
  ]);
});

test("a refusal shows only its error, with the hint", async () => {
  const { written, done } = run("bad");
  await expect(done).rejects.toThrow("no such thing: see svc rollout list");
  expect(written).toEqual([]);
});
