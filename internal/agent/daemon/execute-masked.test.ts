import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { fixedFacts } from "../../../test/harness/facts.ts";
import { fixedSettings } from "../../../test/harness/settings.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { CallContext } from "../../host/modules/mod.ts";
import { createMask, masked } from "../masking/mask.ts";
import { executeMasked } from "./execute-masked.ts";

const secret = "hunter2-of-the-database";
const mask = createMask({ strong: [secret], weak: ["base"] });

function contextOf(more: Partial<CallContext> = {}): CallContext {
  return {
    ...{ clock: manualClock(), facts: fixedFacts({ os: "Debian" }), settings: fixedSettings() },
    ...{ signal: new AbortController().signal, ...more },
  };
}

test("what a call returns, shows and sends has no secret; what was sent comes back", async () => {
  const sent: Plain[] = [];
  const shown: string[] = [];
  const context = contextOf({
    sendEvent(_, data) {
      sent.push(data);
      return { onDisk: true };
    },
    output: (chunk) => shown.push(Buffer.from(chunk).toString()),
  });
  const run = (name: string, args: Record<string, Plain>) =>
    executeMasked({ function: name, args }, context, () => mask);
  const printed = await run("cmd.run", { command: "printf '%s-%s\\n' hunter2-of the-database" });
  expect(JSON.stringify(printed.return)).toContain(masked);
  expect(JSON.stringify(printed.return)).not.toContain(secret);
  expect(shown.join("")).toBe(`${masked}\n`);
  expect((await run("test.echo", { text: `is it ${secret}?` })).return).toBe(`is it ${secret}?`);
  await run("event.send", { tag: "a/b", data: { text: "hello", password: secret } });
  expect(sent).toEqual([{ text: "hello", password: secret }]);
});

test("a fact that an operator sets stays as it was sent", async () => {
  const set: unknown[] = [];
  const facts = {
    ...fixedFacts({ os: "Debian" }),
    set: (...given: unknown[]) => void set.push(given),
  };
  await executeMasked(
    { function: "facts.set", args: { name: "x", value: secret } },
    contextOf({ facts }),
    () => mask,
  );
  expect(set).toEqual([["x", secret, { asSent: true }]]);
});
