import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { createJoinBudget, type JoinPayment, type JoinRequest } from "./join-budget.ts";
import { createJoinPlaces, joinLimits } from "./join-places.ts";
import { createRateLimits } from "./rate-limits.ts";
import { json } from "./route.ts";

const [home, away] = ["192.0.2.1", "198.51.100.1"];

/** A door that judges only who pays. */
function setup() {
  const clock = manualClock();
  const open = new Set(["jtk-a", "jtk-b"]);
  const limits = createRateLimits([], clock);
  const places = createJoinPlaces({ isOpen: (token) => open.has(token), clock });
  const joins = createJoinBudget({ places, limits, clock });
  let made = 0;
  const begin = async (ip: string, request: Partial<JoinRequest>): Promise<JoinPayment | undefined> => {
    const payment = await joins.begin({
      ...{ step: "challenge", budget: "strict", ip, token: null, enrollment: undefined },
      body: async () => undefined,
      ...request,
    });
    return payment.isByToken || limits.allow("strict", ip) ? payment : undefined;
  };
  /** Sends one request. @returns its status, and whether the token paid */
  const send = async (ip: string, request: Partial<JoinRequest>, status: number, fields: object = {}) => {
    const payment = await begin(ip, request);
    if (payment === undefined) return { status: 429, isByToken: false };
    await payment.answered(json(status, fields));
    return { status, isByToken: payment.isByToken };
  };
  const challenge = async (ip: string, token: string | null = "jtk-a") => {
    const id = `chl-${++made}`;
    return { ...(await send(ip, { token }, 200, { challenge_id: id })), id };
  };
  const submitted = (id: string, token: string | undefined): Partial<JoinRequest> => ({
    step: "submit",
    body: async () => ({ challenge_id: id, ...(token === undefined ? {} : { token: { id: token } }) }),
  });
  const approved = (id: string) => ({ id: `enr-${id}`, state: "approved" });
  const submit = (ip: string, id: string, status = 201, fields: object = approved(id), token = "jtk-a") =>
    send(ip, submitted(id, token), status, fields);
  const fetch = (ip: string, id: string, step: "credentials" | "state" | "stream" = "credentials") =>
    send(ip, { step, enrollment: `enr-${id}` }, 200);
  const spendAll = (ip: string) => {
    let count = 0;
    while (limits.allow("strict", ip)) count++;
    return count;
  };
  /** How many requests a source has left. */
  const left = (ip: string) => {
    const count = spendAll(ip);
    limits.giveBack("strict", ip, count);
    return count;
  };
  return { clock, open, places, spendAll, begin, send, challenge, submit, submitted, fetch, left };
}

test("100 hosts behind one address with a good token are in within a minute, during a flood from there", async () => {
  const { clock, challenge, submit, fetch, left, places } = setup();
  let [joined, strangers] = [0, 0];
  for (let ms = 0; ms < 60_000 && joined < 100; ms += 100) {
    for (let n = 0; n < 20; n++) if ((await challenge(home, null)).status !== 429) strangers++;
    for (let n = 0; n < 10 && joined < 100; n++) {
      const { status, id } = await challenge(home);
      if (status === 429) break;
      expect(await submit(home, id)).toEqual({ status: 201, isByToken: true });
      expect(await fetch(home, id)).toEqual({ status: 200, isByToken: true });
      joined++;
    }
    clock.advance(100);
  }
  expect(joined).toBe(100);
  // The strangers got what an address gets without a token, and not more.
  expect(strangers).toBeLessThanOrEqual(16);
  expect([left(home), places.size]).toEqual([0, 0]);
});

test("a flood in the name of a token gets 10 places, and other addresses join with it", async () => {
  const { challenge, submit, left } = setup();
  const flood = await Promise.all(Array.from({ length: 100 }, () => challenge(away)));
  expect(flood.filter(({ isByToken }) => isByToken)).toHaveLength(10);
  expect(flood.filter(({ status }) => status === 200)).toHaveLength(20);
  const host = await challenge(home);
  expect([host.isByToken, await submit(home, host.id)]).toEqual([true, { status: 201, isByToken: true }]);
  expect([left(home), left(away)]).toEqual([10, 0]);
});

test("a wrong proof is charged to its source, which pays for everything for a minute", async () => {
  const { clock, challenge, submit, left } = setup();
  const [wrong, waiting] = [await challenge(home), await challenge(home)];
  expect(await submit(home, wrong.id, 401)).toEqual({ status: 401, isByToken: true });
  expect(left(home)).toBe(9);
  expect(await submit(home, waiting.id)).toEqual({ status: 201, isByToken: false });
  expect((await challenge(home)).isByToken).toBe(false);
  expect((await challenge(away)).isByToken).toBe(true);
  clock.advance(joinLimits.disfavorMs);
  expect((await challenge(home)).isByToken).toBe(true);
});

test.each([
  ["a conflict", 409, {}],
  ["another key", 200, { id: "enr-1", state: "pending", key_mismatch: true }],
  ["a host that the token is not for", 403, {}],
  ["a body that is not valid", 400, {}],
])("%s is charged, and a source that cannot pay loses the favor", async (_, status, fields) => {
  const { challenge, submit, left, spendAll, places } = setup();
  const first = await challenge(home);
  expect(await submit(home, first.id, status, fields)).toEqual({ status, isByToken: true });
  expect([left(home), places.size]).toEqual([9, 0]);
  spendAll(home);
  const second = await challenge(home);
  expect(await submit(home, second.id, status, fields)).toEqual({ status, isByToken: true });
  expect((await challenge(home)).status).toBe(429);
});

test("what a master cannot answer costs nothing, keeps its place for 10 s, and repeating it is not a wrong proof", async () => {
  const { clock, challenge, submit, left, places } = setup();
  const { id } = await challenge(home);
  expect(await submit(home, id, 503)).toEqual({ status: 503, isByToken: true });
  expect([left(home), places.size]).toEqual([10, 1]);
  expect(await submit(home, id, 401)).toEqual({ status: 401, isByToken: false });
  expect((await challenge(home)).isByToken).toBe(true);
  clock.advance(joinLimits.unprovenMs);
  expect(places.size).toBe(0);
});

test("a join that its source paid for gives back what it took, and no other request does", async () => {
  const { open, challenge, submit, fetch, left } = setup();
  open.clear();
  const { id, isByToken } = await challenge(home);
  expect([isByToken, left(home)]).toEqual([false, 9]);
  await challenge(home, null);
  expect(await submit(home, id)).toEqual({ status: 201, isByToken: false });
  expect(left(home)).toBe(9);
  expect(await fetch(home, id)).toEqual({ status: 200, isByToken: false });
  expect(left(home)).toBe(9);
  // Without a token, or one that failed.
  const other = await challenge(home, null);
  await submit(home, other.id, 401);
  expect(left(home)).toBe(7);
});

test("a host that a token has admitted gets nothing back for a second request", async () => {
  const { open, challenge, submit, left } = setup();
  open.clear();
  const first = await challenge(home);
  await submit(home, first.id);
  expect(left(home)).toBe(10);
  const again = await challenge(home);
  await submit(home, again.id, 200, { id: `enr-${first.id}`, state: "approved" });
  expect(left(home)).toBe(8);
});

test("a join without a token gives nothing back", async () => {
  const { challenge, send, submitted, fetch, left } = setup();
  const { id } = await challenge(home, null);
  await send(home, submitted(id, undefined), 201, { id: `enr-${id}`, state: "approved" });
  await fetch(home, id);
  expect(left(home)).toBe(7);
});

test("further evidence is paid too, a failed one is charged, and before the proof there are four requests", async () => {
  const { challenge, send, submit, submitted, left } = setup();
  const prove = (id: string, status: number) =>
    send(home, { ...submitted(id, undefined), step: "evidence" }, status);
  const first = await challenge(home);
  expect(await prove(first.id, 200)).toEqual({ status: 200, isByToken: true });
  expect([await submit(home, first.id), left(home)]).toEqual([{ status: 201, isByToken: true }, 10]);
  const second = await challenge(home);
  const paid = [];
  for (let n = 0; n < 4; n++) paid.push((await prove(second.id, 404)).isByToken);
  // Three at the expense of the token that are charged, and one at that of its source.
  expect([paid, left(home)]).toEqual([[true, true, true, false], 6]);
  const third = await challenge(home);
  await prove(third.id, 401);
  expect([(await challenge(home)).isByToken, left(home)]).toEqual([false, 4]);
});

test("a place pays for one request at a time, of its own challenge, token and source", async () => {
  const { begin, challenge, submitted } = setup();
  const [first, second] = [await challenge(home), await challenge(away)];
  const isPaid = async (ip: string, request: Partial<JoinRequest>) => (await begin(ip, request))?.isByToken;
  expect(await isPaid(away, submitted(first.id, "jtk-a"))).toBe(false);
  expect(await isPaid(home, submitted(first.id, "jtk-b"))).toBe(false);
  expect(await isPaid(home, submitted("chl-none", "jtk-a"))).toBe(false);
  const both = await Promise.all([1, 2].map(() => isPaid(away, submitted(second.id, "jtk-a"))));
  expect(both.sort()).toEqual([false, true]);
});

test("a host that proved its token may ask 16 times more, and one that waits for a person has no place", async () => {
  const { challenge, submit, fetch, places } = setup();
  const { id } = await challenge(home);
  await submit(home, id, 201, { id: `enr-${id}`, state: "pending" });
  const paid = [];
  for (let n = 0; n < 18; n++) paid.push((await fetch(home, id, "state")).isByToken);
  expect(paid.filter(Boolean)).toHaveLength(16);
  const held = await challenge(home);
  await submit(home, held.id, 201, { id: `enr-${held.id}`, state: "pending" });
  expect((await fetch(home, held.id, "stream")).isByToken).toBe(true);
  expect([places.size, (await fetch(home, held.id)).isByToken]).toEqual([1, false]);
});

test("no body is read before its source has paid, unless a host of it has a place", async () => {
  const { begin, challenge, submitted } = setup();
  let read = 0;
  const counted = (id: string): Partial<JoinRequest> => ({
    ...submitted(id, "jtk-a"),
    body: async () => {
      read++;
      throw new Error("not JSON");
    },
  });
  await begin(home, counted("chl-none"));
  await challenge(away);
  expect([read, (await begin(home, counted("chl-none")))?.isByToken, read]).toEqual([0, false, 0]);
  await challenge(home);
  expect([(await begin(home, counted("chl-none")))?.isByToken, read]).toEqual([false, 1]);
});
