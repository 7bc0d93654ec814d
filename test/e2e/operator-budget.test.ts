import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInbox } from "nats";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { fromOperatorSubject } from "../../internal/base/names/operator-subject.ts";
import { operatorInboxPrefix } from "../../internal/bus/accounts/operator-users.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { enrollmentDoors } from "../../internal/fleet/enrollment/doors.ts";
import { eventDoors } from "../../internal/fleet/events/doors.ts";
import { operatorLimits } from "../../internal/fleet/requests/operator-budgets.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { type Reply, send as sendHttps } from "../harness/client.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { newOperator, registryOf, requestAs, signedBy, type TestOperator } from "../harness/operators.ts";
import { runRecord } from "../harness/run-record.ts";

// Operators who send more than they may, beside one who does not: on the bus, which says who they are, and over REST.

setDefaultTimeout(60_000);

const ann = newOperator("ann");
const [eve, mallory, bob] = [
  newOperator("eve", ["viewer"]),
  newOperator("mallory", ["viewer"]),
  newOperator("bob", ["viewer"]),
];
const carl = newOperator("carl", ["operator"]);
const tokens = { ann: "token-of-ann-0123456789", eve: "token-of-eve-0123456789" };

let bus: TestBus;
/** Publishes below the key of anyone. */
let owner: Bus;
let signing: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  for (const [name, token] of Object.entries(tokens)) {
    runRecord.register("token", token);
    writeFileSync(join(bus.dir, `token-${name}`), `${token}\n`, { mode: 0o600 });
  }
  const entry = (username: string, role: string) => ({
    ...{ username, token_file: join(bus.dir, `token-${username}`), roles: [role] },
  });
  signing = await startMaster(bus, {
    operatorLimits,
    operators: registryOf(ann, eve, mallory, bob, carl),
    config: {
      operators: { require_signed: true },
      api: { tokens: [entry("ann", "admin"), entry("eve", "viewer")] },
    },
  });
  owner = await connectTo(bus, "master");
});
afterAll(async () => {
  await owner?.nats.close();
  await signing?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

interface Answer {
  ok?: boolean;
  error?: { code: string; message: string; retry_after_ms?: number };
}
const read = (reply: Uint8Array): Answer => Object(decode(reply));

const { subject } = enrollmentDoors.listEnrollments.bus;
const body = encode({});
/** Sends what an operator signed below a key. */
const send = async (from: TestOperator, request = signedBy(from, subject, body)) =>
  read(await requestAs(owner, from, subject, request));
const isLimited = ({ error }: Answer) => error?.code === "rate_limited";

test("a flood of signed requests is refused in part, and another operator is served meanwhile", async () => {
  const envelopes = Array.from({ length: 1_500 }, () => signedBy(eve, subject, body));
  const flood = envelopes.map((envelope) => send(eve, envelope));
  const others = await Promise.all(Array.from({ length: 40 }, () => send(ann)));
  expect(others.map(({ ok }) => ok)).toEqual(Array(40).fill(true));
  const answers = await Promise.all(flood);
  expect(answers.filter(({ ok }) => ok).length).toBeGreaterThanOrEqual(operatorLimits.burst);
  const refused = answers.filter(({ ok }) => !ok);
  expect(refused.length).toBeGreaterThan(0);
  for (const answer of refused) {
    expect(answer.error).toEqual({
      code: "rate_limited",
      message: expect.stringMatching(
        /^(too many requests|256 requests) of this operator.*: try again in 1s$/,
      ),
      retry_after_ms: expect.any(Number),
    });
  }

  // Nothing of what was refused is remembered: sent again later, it is taken, and then it is not taken again.
  const again = envelopes[answers.findIndex(isLimited)];
  let answer = await send(eve, again);
  while (isLimited(answer)) answer = await send(eve, again);
  expect(answer).toMatchObject({ ok: true });
  answer = await send(eve, again);
  while (isLimited(answer)) answer = await send(eve, again);
  expect(answer.error).toMatchObject({
    code: "unauthorized",
    message: expect.stringContaining("taken before"),
  });

  const metrics = await (await fetch(`${signing.healthUrl}/metrics`)).text();
  expect(metrics).toContain('svc_operator_requests_limited_total{operator="eve"}');
  expect(metrics).not.toContain('svc_operator_requests_limited_total{operator="ann"}');
});

test("wrong signatures suspend the key that sends them, and no other", async () => {
  const wrong = () =>
    encode({ ...Object(decode(signedBy(mallory, subject, body))), signature: new Uint8Array(64) });
  expect(await send(mallory)).toMatchObject({ ok: true });
  expect((await send(mallory, wrong())).error?.code).toBe("unauthorized");
  let answer: Answer | undefined;
  while (answer === undefined) {
    const answers = await Promise.all(Array.from({ length: 120 }, () => send(mallory, wrong())));
    answer = answers.find(({ error }) => error?.message.includes("wrong signatures"));
  }
  expect(answer.error?.code).toBe("rate_limited");
  // Neither does a right one count now, nor is anyone else suspended.
  expect((await send(mallory)).error?.message).toContain(
    "too many requests with this key had wrong signatures",
  );
  expect(await send(ann)).toMatchObject({ ok: true });
});

test("nobody spends the budget of another key, or gets it suspended", async () => {
  const stolen = await Promise.all(
    Array.from({ length: 120 }, () => send(bob, signedBy(ann, subject, body))),
  );
  for (const { error } of stolen) {
    expect(error).toMatchObject({ code: "unauthorized", message: expect.stringContaining("another key") });
  }
  expect(await send(ann)).toMatchObject({ ok: true });
});

test("an operator follows 16 streams, and another one as many", async () => {
  const follow = eventDoors.streamEvents.bus.subject;
  const begin = async (from: TestOperator) => {
    const reply = createInbox(operatorInboxPrefix(from.key.publicKey));
    const { promise, resolve } = Promise.withResolvers<Answer>();
    // A stream ends when nobody subscribes to its inbox any more.
    owner.nats.subscribe(reply, { callback: (_, { data }) => resolve(read(data)) });
    const published = fromOperatorSubject(from.key.publicKey, follow);
    owner.nats.publish(published, signedBy(from, follow, body), { reply });
    return promise;
  };
  const answers = await Promise.all(Array.from({ length: 17 }, () => begin(carl)));
  const limited = answers.filter(isLimited);
  expect(limited).toEqual([
    {
      ok: false,
      error: {
        code: "rate_limited",
        message: "this operator follows 16 streams already: try again in 1s",
        retry_after_ms: 1_000,
      },
    },
  ]);
  expect(await begin(ann)).toMatchObject({ seq: 0, kind: "alive" });
});

describe("over REST", () => {
  const path = "/api/v1/enrollments";
  const get = (token: string | undefined, from: string): Promise<Reply> => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return sendHttps(signing.url, signing.ca, { path, from, headers });
  };
  /** Sends until one is refused because there were too many. */
  const exhaust = async (token: string | undefined, from: string): Promise<Reply> => {
    const limited = Promise.withResolvers<Reply>();
    let isOver = false;
    const lane = async () => {
      while (!isOver) {
        const reply = await get(token, from);
        if (reply.status !== 429) continue;
        isOver = true;
        limited.resolve(reply);
      }
    };
    // One address may have eight handshakes at a time.
    await Promise.all(Array.from({ length: 6 }, lane));
    return limited.promise;
  };

  test("a token spends its own budget, and an administrator at the same address is served", async () => {
    const from = "127.77.0.1";
    const limited = await exhaust(tokens.eve, from);
    expect(limited.headers["retry-after"]).toBe("1");
    expect(limited.json).toEqual({ error: expect.stringContaining("of this operator") });
    expect((await get(tokens.ann, from)).status).toBe(200);
    // Strangers there have what they had.
    expect((await get(undefined, from)).status).toBe(401);
  });

  test("a stranger at the same address spends nothing of a token", async () => {
    const from = "127.77.0.2";
    const limited = await exhaust("no-token", from);
    expect(limited.json).toEqual({ error: "rate limit exceeded" });
    expect(limited.headers["retry-after"]).toBe("10");
    expect((await get(tokens.ann, from)).status).toBe(200);
  });
});

test("without required signatures, everyone on the subjects of earlier versions shares one budget", async () => {
  await using separate = await startBus();
  await using _ = await startMaster(separate, { operatorLimits, operators: registryOf(ann) });
  const admin = await connectTo(separate, "admin");
  const masters = await connectTo(separate, "master");
  const unsigned = encode({ operator: "tester" });
  const plain = async () => read((await admin.nats.request(subject, unsigned, { timeout: 30_000 })).data);
  expect(await plain()).toMatchObject({ ok: true });
  const answers = await Promise.all(Array.from({ length: 1_000 }, plain));
  expect(answers.some(isLimited)).toBe(true);
  // Below its own key each operator has a budget of its own.
  expect(read(await requestAs(masters, ann, subject, signedBy(ann, subject, body)))).toMatchObject({
    ok: true,
  });
  await admin.nats.close();
  await masters.nats.close();
});
