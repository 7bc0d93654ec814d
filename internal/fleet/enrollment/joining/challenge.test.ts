import { expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { createBoundedMap } from "../../../base/bounded-map.ts";
import { SvcError } from "../../../base/errors.ts";
import { systemRandom } from "../../../base/id.ts";
import { type Challenges, consumeChallenge, issueChallenge, maxMadeChallenges } from "./challenge.ts";

const binding = { peelId: "web-1", publicKey: "UKEY" };
/** As a master has it; `others` is the same bucket for another master, which made none of the challenges. */
const setup = () => {
  const bucket = memoryBucket();
  const read: string[] = [];
  const challenges: Challenges = {
    ...bucket,
    get(key) {
      read.push(key);
      return bucket.get(key);
    },
    made: createBoundedMap(maxMadeChallenges),
  };
  const deps = { challenges, clock: manualClock(), random: systemRandom };
  return { ...deps, read, others: { ...deps, challenges: bucket } };
};
const refused = (kind: string) => expect.objectContaining({ kind });

test("a challenge is 32 bytes, named after its time, and ends in five minutes", async () => {
  const deps = setup();
  const challenge = await issueChallenge(deps, binding);
  expect(challenge.id).toMatch(/^chl-[0-9A-Za-z]{27}$/);
  expect(challenge.bytes).toHaveLength(32);
  expect(challenge.expiresAt - deps.clock.now()).toBe(5 * 60_000);
});

test("it can be used until its last millisecond, and not later", async () => {
  const deps = setup();
  const [early, late] = [await issueChallenge(deps, binding), await issueChallenge(deps, binding)];
  deps.clock.advance(5 * 60_000 - 1);
  expect(await consumeChallenge(deps, early.id, binding)).toEqual(early.bytes);
  deps.clock.advance(1);
  await expect(consumeChallenge(deps, late.id, binding)).rejects.toEqual(refused("unauthorized"));
});

test("one of fifty concurrent uses succeeds, and no later one", async () => {
  const deps = setup();
  const { id } = await issueChallenge(deps, binding);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 50 }, (_, at) => consumeChallenge(at % 2 === 0 ? deps : deps.others, id, binding)),
  );
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const outcome of outcomes) {
    if (outcome.status === "rejected") expect(outcome.reason).toEqual(refused("unauthorized"));
  }
  await expect(consumeChallenge(deps, id, binding)).rejects.toThrow("challenge verification failed");
});

test("a wrong binding differs from an unknown challenge, and consumes it", async () => {
  for (const wrong of [
    { ...binding, peelId: "web-2" },
    { ...binding, publicKey: "UOTHER" },
  ]) {
    const deps = setup();
    const { id } = await issueChallenge(deps, binding);
    expect(await consumeChallenge(deps, id, wrong).catch((thrown) => thrown)).toEqual(refused("bad_request"));
    expect(await consumeChallenge(deps, id, binding).catch((thrown) => thrown)).toEqual(
      refused("unauthorized"),
    );
  }
});

test("an unknown, a consumed and an expired challenge get the same answer", async () => {
  const deps = setup();
  const { id } = await issueChallenge(deps, binding);
  const answers = [];
  await consumeChallenge(deps, id, binding);
  answers.push(await consumeChallenge(deps, id, binding).catch((thrown) => thrown));
  answers.push(await consumeChallenge(deps, `chl-${"a".repeat(27)}`, binding).catch((thrown) => thrown));
  const old = await issueChallenge(deps, binding);
  deps.clock.advance(6 * 60_000);
  answers.push(await consumeChallenge(deps, old.id, binding).catch((thrown) => thrown));
  for (const answer of answers) {
    expect(answer).toBeInstanceOf(SvcError);
    expect([answer.kind, answer.message]).toEqual(["unauthorized", "challenge verification failed"]);
  }
});

test("the master that made a challenge does not read it, and another one does", async () => {
  const deps = setup();
  const [own, foreign] = [await issueChallenge(deps, binding), await issueChallenge(deps.others, binding)];
  expect(await consumeChallenge(deps, own.id, binding)).toEqual(own.bytes);
  expect(deps.read).toEqual([]);
  expect(await consumeChallenge(deps, foreign.id, binding)).toEqual(foreign.bytes);
  expect(deps.read).toEqual([foreign.id]);
});

test("a challenge that the bus has lost is unknown, also to the master that made it", async () => {
  const deps = setup();
  const { id } = await issueChallenge(deps, binding);
  const remove = () => Promise.reject(new SvcError("storage", "no such bucket"));
  const lost = { ...deps.challenges, get: async () => undefined, remove };
  await expect(consumeChallenge({ ...deps, challenges: lost }, id, binding)).rejects.toEqual(
    refused("unauthorized"),
  );
});
