import { expect, test } from "bun:test";
import { encode } from "../../base/msgpack.ts";
import { followCommandForms } from "./command-forms.ts";

function following() {
  const listeners = new Set<(peel: string, revision: number, value: Uint8Array) => void>();
  const forms = followCommandForms({
    onBeat(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
  });
  const beat = (value: Uint8Array) => {
    for (const run of listeners) run("web-1", 1, value);
  };
  return { ...forms, beat, listeners };
}

test("a peel opens what its last heartbeat says", () => {
  const { opensProofs, beat, listeners, stop } = following();
  expect(opensProofs("web-1")).toBe(false);
  beat(encode({ peel_id: "web-1", command_form: 2 }));
  expect([opensProofs("web-1"), opensProofs("web-2")]).toEqual([true, false]);
  // A peel of an earlier version took its place.
  beat(encode({ peel_id: "web-1" }));
  expect(opensProofs("web-1")).toBe(false);
  beat(encode({ command_form: 3 }));
  expect(opensProofs("web-1")).toBe(true);
  stop();
  expect(listeners.size).toBe(0);
});

test("a peel that says something else opens what earlier versions open", () => {
  for (const value of [1, "2", null, [2], { form: 2 }, Number.NaN, true]) {
    const { opensProofs, beat } = following();
    beat(encode({ command_form: 2 }));
    beat(encode({ command_form: value }));
    expect(opensProofs("web-1")).toBe(false);
  }
  for (const junk of [Buffer.of(0xc1), new Uint8Array(), encode([2]), encode(2)]) {
    const { opensProofs, beat } = following();
    beat(encode({ command_form: 2 }));
    beat(junk);
    expect(opensProofs("web-1")).toBe(false);
  }
});
