import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { describeError } from "../../base/errors.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { createStatesClient } from "./fetch-states.ts";

const refusal = { ok: false, error: { code: "rate_limited", message: "too many requests of this peel" } };
const blob = Buffer.from("state");
const digest = sha256Hex(blob);

function client(answers: Plain[]) {
  const clock = manualClock();
  let requests = 0;
  const request = async () => {
    requests++;
    return encode(answers.shift() ?? refusal);
  };
  const connection = { connected: true, request };
  const leaving = new AbortController();
  const { signal } = leaving;
  return {
    leave: () => leaving.abort(new Error("left")),
    states: createStatesClient({ connection, peelId: "web-1", clock, jitter: () => 0.999, signal }),
    requests: () => requests,
    async advance(seconds: number) {
      for (let second = 0; second < seconds; second++) {
        await settle();
        clock.advance(1_000);
      }
      await settle();
    },
    clock,
  };
}

test("a peel that asked too much waits, and fetches the rest", async () => {
  const { states, advance, requests, clock } = client([refusal, refusal, { blobs: [blob] }]);
  const taken: string[] = [];
  const fetched = states.fetch([{ digest, size: blob.length }], async (name) => {
    taken.push(name);
  });
  await advance(3);
  await fetched;
  expect([taken, requests(), clock.pending]).toEqual([[digest], 3, 0]);
});

test("when masters do not stop refusing, the error reports it", async () => {
  const { states, advance, requests } = client([]);
  const found = states.find("base").catch((thrown: unknown) => thrown);
  await advance(70);
  expect(await found).toMatchObject({ kind: "rate_limited", message: "too many requests of this peel" });
  expect(requests()).toBe(7);
});

test("another refusal is not asked again", async () => {
  const error = { code: "not_found", message: "the environment does not exist" };
  const { states, requests } = client([{ ok: false, error }]);
  await expect(states.find("dev")).rejects.toMatchObject({ kind: "not_found" });
  expect(requests()).toBe(1);
});

test("nobody waits for masters on a connection that was left", async () => {
  const { states, leave, clock } = client([]);
  const found = states.find("base").catch(describeError);
  await settle();
  leave();
  expect([await found, clock.pending]).toEqual(["left", 0]);
});
