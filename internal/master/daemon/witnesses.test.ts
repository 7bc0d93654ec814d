import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { maintainWitnesses } from "./witnesses.ts";

test("a few connected peels learn of a minute in which the audit grew, and none of one in which it did not", () => {
  const clock = manualClock();
  const hinted: string[] = [];
  let head: Uint8Array | undefined;
  let connected = ["a1", "b1", "c1", "d1", "e1"];
  const witnesses = maintainWitnesses({
    bus: { publish: (subject) => void hinted.push(subject) },
    auditHead: () => head,
    connected: () => connected,
    clock,
    jitter: () => 0.99,
  });
  clock.advance(60_000);
  expect(hinted).toEqual([]);
  head = new Uint8Array([1]);
  clock.advance(60_000);
  expect(hinted).toEqual(["svc.peel.e1.hint", "svc.peel.d1.hint", "svc.peel.c1.hint"]);
  clock.advance(600_000);
  expect(hinted).toHaveLength(3);
  connected = ["a1"];
  head = new Uint8Array([2]);
  clock.advance(60_000);
  expect(hinted.slice(3)).toEqual(["svc.peel.a1.hint"]);
  witnesses.stop();
  head = new Uint8Array([3]);
  clock.advance(60_000);
  expect(hinted).toHaveLength(4);
});
