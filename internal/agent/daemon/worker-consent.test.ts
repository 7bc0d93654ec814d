import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { listedPeel } from "../../../test/harness/listed-peel.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";

const files = temporaryDirectory("worker-consent");
afterAll(() => files[Symbol.dispose]());
let count = 0;

describe("on a peel that obeys operators only", () => {
  const signedAt = manualClock().now();
  /** Each name of a function is a request of its own, as long as `nonce` does not say otherwise. */
  const insisting = (nonceOf = (name: string) => name) =>
    listedPeel(join(files.path, `${++count}`), {
      dispatch: (_, call) => {
        const { function: name } = call;
        return name.startsWith("unsigned")
          ? { refused: "no operator signed it" }
          : name.startsWith("automatic")
            ? { by: "automation", call }
            : {
                by: "operator",
                operator: "ann",
                key: "",
                nonce: Buffer.from(nonceOf(name)),
                sentAt: signedAt,
                until: signedAt + 60_000,
                timeoutMs: 30_000,
                isWave: name.startsWith("wave"),
              };
      },
      own: (call) => call,
      releases: [],
      learn: () => false,
      stop: ({ jid }, isAutomatic) =>
        isAutomatic || jid === "signed" ? { by: "operator" } : { refused: "nobody signed" },
    });

  test("what nobody signed does not run, and says why", async () => {
    const at = insisting();
    for (const name of ["unsigned", "unsigned-read"]) await at.dispatch(name);
    expect(at.begun).toEqual([]);
    expect(at.returnOf("unsigned")).toMatchObject({
      success: false,
      error: "not run, because this peel obeys operators only (require_operator): no operator signed it",
    });
    expect(at.life.local.counts.refused.unsigned).toBe(2);
  });

  test.each(["a", "read"])("a signed request counts once, also after a restart (%s)", async (name) => {
    const at = insisting();
    await at.dispatch("first", name);
    await at.end(name);
    expect(at.returnOf("first")).toMatchObject({ success: true });
    const again = { success: false, error: expect.stringContaining("used on this peel before") };
    await at.dispatch("second", name);
    expect(at.returnOf("second")).toMatchObject(again);
    await at.crash();
    await at.dispatch("third", name);
    expect(at.returnOf("third")).toMatchObject(again);
    expect(at.begun).toEqual([name]);
  });

  test("a job that comes again is answered once, and needs no other request", async () => {
    const at = insisting();
    await at.dispatch("first", "a");
    await at.dispatch("first", "a");
    await at.end("a");
    expect([at.begun, at.said()]).toEqual([["a"], ["ack first", "return first"]]);
  });

  test("a job runs no longer than the operator signed, whatever the master says", async () => {
    const at = insisting();
    await at.dispatch("a", "a", at.inAMinute());
    at.clock.advance(29_999);
    await settle();
    expect(at.returnOf("a")).toBeUndefined();
    at.clock.advance(1);
    await settle();
    expect(at.returnOf("a")).toMatchObject({ success: false, outcome: "timeout" });
  });

  test("a job stops when an operator signs that, and one that runs by itself without", async () => {
    const at = insisting();
    await at.dispatch("other");
    await at.stop("other");
    expect(at.returnOf("other")).toBeUndefined();
    await at.dispatch("automatic");
    await at.stop("automatic");
    await at.dispatch("signed");
    await at.stop("signed");
    await at.dispatch("wave-1");
    await at.stop("wave-1");
    expect(at.returnOf("wave-1")).toMatchObject({ outcome: "cancelled" });
    expect(at.returnOf("automatic")).toMatchObject({ outcome: "cancelled" });
    expect(at.returnOf("signed")).toMatchObject({ outcome: "cancelled" });
    expect(at.life.local.counts.refused.unsigned).toBe(1);
  });
});
