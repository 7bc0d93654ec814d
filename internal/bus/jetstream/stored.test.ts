import { expect, test } from "bun:test";
import { assertStored, isTooLarge } from "./stored.ts";

const answer = (value: unknown) => Buffer.from(JSON.stringify(value));

function refusal(data: Uint8Array): unknown {
  try {
    assertStored(data);
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

test("an acknowledgement with a sequence means that the message is stored", () => {
  expect(refusal(answer({ stream: "facts", seq: 7 }))).toBeUndefined();
});

test.each([
  [answer({ error: { code: 503, err_code: 10077, description: "maximum bytes exceeded" } }), "did not store"],
  [answer({ error: "something" }), "did not store it: no reason given"],
  [answer({ stream: "facts" }), "acknowledgement of the bus cannot be read"],
  [answer(null), "acknowledgement of the bus cannot be read"],
  [Buffer.from("not JSON"), "acknowledgement of the bus cannot be read"],
  [Buffer.of(), "acknowledgement of the bus cannot be read"],
])("anything else is a refusal, with its reason: %s", (data, reason) => {
  expect(refusal(data)).toMatchObject({ kind: "unavailable", message: expect.stringContaining(reason) });
});

test("a message that is too large differs from other refusals", () => {
  const refused = (err_code: number) => refusal(answer({ error: { code: 400, err_code } }));
  expect([isTooLarge(refused(10054)), isTooLarge(refused(10077))]).toEqual([true, false]);
});
