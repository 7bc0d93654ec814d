import { describe, expect, test } from "bun:test";
import { ErrorCode, NatsError } from "nats";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { SettingsAnswer } from "../../wire/settings-answer.ts";
import type { Connection } from "../link/connection.ts";
import { startHello } from "./hello.ts";

const clusterInfo = { v: 1, nats_urls: ["tls://bus.example:4222"] };
const good = () => Promise.resolve(encode({ server_time: "", cluster_info: clusterInfo }));

function hello(
  answer: () => Promise<Uint8Array>,
  jitter = 0.5,
  learn = (commandKeys: { current: string[] }, keys: readonly string[]) => {
    commandKeys.current = [...keys];
  },
) {
  const clock = manualClock();
  const order: string[] = [];
  const commandKeys = { current: ["old"] };
  const reported: unknown[] = [];
  const missing: boolean[] = [];
  const commands: Uint8Array[] = [];
  const settings: SettingsAnswer[] = [];
  const statements: (Uint8Array | undefined)[] = [];
  const spreads: unknown[] = [];
  const log = recordingLog();
  const requests: { subject: string; data: unknown }[] = [];
  let hint = () => {};
  let ownHint = () => {};
  let connect = () => {};
  const connection = {
    connected: true,
    request(subject: string, data: Uint8Array) {
      requests.push({ subject, data: decode(data) });
      return answer();
    },
    subscribe(subject: string, run: () => void) {
      if (subject === "svc.peel.web-1.hint") ownHint = run;
      else {
        expect(subject).toBe("$KV.secrets._cluster_info");
        hint = run;
      }
    },
    onConnect(run: () => void) {
      connect = run;
      run();
      return () => {};
    },
  };
  const running = startHello({
    connection: connection as unknown as Connection,
    peelId: "web-1",
    commandKeys,
    onKeys: (isMissing) => missing.push(isMissing),
    onLackingFacts: () => order.push("facts"),
    onCluster: async (document) => {
      order.push("cluster");
      // As over verified HTTPS.
      if (document.command_keys.length > 0) learn(commandKeys, document.command_keys);
      reported.push(document.nats_urls);
    },
    onCommand: (command) => commands.push(command),
    settings: {
      version: 7,
      take(reported) {
        settings.push(reported);
        return true;
      },
    },
    stateFiles: {
      reported(statement) {
        order.push("states");
        statements.push(statement);
      },
    },
    spread: {
      reported: (spreadMs) => {
        spreads.push(spreadMs);
      },
    },
    clock,
    jitter: () => jitter,
    log,
  });
  return {
    clock,
    reported,
    missing,
    commands,
    log,
    requests,
    connection,
    running,
    hint: () => hint(),
    ownHint: () => ownHint(),
    settings,
    statements,
    spreads,
    order,
    commandKeys,
    connect: () => connect(),
  };
}

test("asks on its own subject after each connect, a little later", async () => {
  const { clock, requests, reported, connect } = hello(good);
  expect(requests).toEqual([]);
  clock.advance(1_000);
  await settle();
  expect(requests).toMatchObject([
    { subject: "svc.peel.web-1.hello", data: { version: expect.any(String) } },
  ]);
  expect(reported).toEqual([clusterInfo.nats_urls]);
  connect();
  clock.advance(1_000);
  await settle();
  expect(requests).toHaveLength(2);
});

test("each answer says over what time a fleet comes back, or nothing", async () => {
  const answer = encode({ server_time: "", cluster_info: clusterInfo, spread_ms: 15_000 });
  const answers = [answer, await good()];
  const { clock, spreads, connect } = hello(async () => answers.shift() ?? new Uint8Array());
  clock.advance(1_000);
  await settle();
  connect();
  clock.advance(1_000);
  await settle();
  expect(spreads).toEqual([15_000, undefined]);
});

test("facts that the bus lost are stored once more, and not otherwise", async () => {
  const lacks = encode({ server_time: "", cluster_info: clusterInfo, lacks_facts: true });
  const answers = [lacks, await good()];
  const { clock, order, connect } = hello(async () => answers.shift() ?? new Uint8Array());
  clock.advance(1_000);
  await settle();
  connect();
  clock.advance(1_000);
  await settle();
  expect(order.filter((what) => what === "facts")).toHaveLength(1);
});

test("while no master is connected a peel asks again soon; a master that does not answer is left in peace", async () => {
  const gaps = async (failure: Error) => {
    const { clock, requests } = hello(() => Promise.reject(failure));
    clock.advance(1_000);
    const found: number[] = [];
    for (let ms = 0; found.length < 3; ms += 50) {
      const before = requests.length;
      await clock.pass(50);
      if (requests.length > before) found.push(ms + 50);
    }
    return found;
  };
  expect(await gaps(NatsError.errorForCode(ErrorCode.NoResponders))).toEqual([300, 900, 2_100]);
  expect(await gaps(NatsError.errorForCode(ErrorCode.Timeout))).toEqual([1_500, 4_500, 10_500]);
});

test("the statement about the state files is passed on, including its absence", async () => {
  for (const [states, reported] of [
    [{ base: "ab", statement: Buffer.of(7) }, [Buffer.of(7)]],
    [{ base: "ab" }, [undefined]],
    [{ base: "ab", statement: "text" }, [undefined]],
    ["base", []],
    [null, []],
  ] as const) {
    const { clock, statements } = hello(async () => encode({ ...(decode(await good()) as object), states }));
    clock.advance(1_000);
    await settle();
    expect(statements).toEqual([...reported]);
  }
});

test("new command keys are stored before statements that they may have signed", async () => {
  const states = { base: "ab", statement: Buffer.of(7) };
  const { clock, order } = hello(async () => encode({ ...(decode(await good()) as object), states }));
  clock.advance(1_000);
  await settle();
  expect(order).toEqual(["cluster", "states"]);
});

test("it tells whether a command key of the masters is still missing after they were asked", async () => {
  const named: string[][] = [["old"], [], ["old", "next"]];
  const answer = () =>
    Promise.resolve(
      encode({ server_time: "", cluster_info: { ...clusterInfo, command_keys: named.shift() } }),
    );
  const { clock, missing, connect, commandKeys, running } = hello(answer, 0.5, () => {});
  for (let times = 0; times < 3; times++) {
    connect();
    await clock.pass(1_000);
  }
  expect([missing, commandKeys.current]).toEqual([[false, false, true], ["old"]]);
  running.stop();
});

test("it says which command keys it knows, takes new ones before work, and confirms them with another hello", async () => {
  const cluster_info = { ...clusterInfo, command_keys: ["old", "next"] };
  const jobs = [Buffer.from("1")];
  const { clock, requests, order, commands } = hello(async () => {
    order.push(`answer, ${commands.length} commands`);
    return encode({ cluster_info, jobs });
  });
  clock.advance(1_000);
  await settle();
  clock.advance(1_000);
  await settle();
  expect(requests.map(({ data }) => (data as { knows_command_keys: unknown }).knows_command_keys)).toEqual([
    ["old"],
    ["old", "next"],
  ]);
  expect(order.slice(0, 2)).toEqual(["answer, 0 commands", "cluster"]);
  expect(commands).toHaveLength(2);
  clock.advance(60_000);
  await settle();
  expect(requests).toHaveLength(2);
});

test("many hints at once are one request", async () => {
  const { clock, requests, hint } = hello(good);
  clock.advance(1_000);
  await settle();
  for (let i = 0; i < 1_000; i++) hint();
  clock.advance(60_000);
  await settle();
  expect(requests).toHaveLength(2);
});

test("a hint that comes while it asks is not forgotten", async () => {
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  const { clock, requests, hint } = hello(() => promise);
  clock.advance(1_000);
  hint();
  resolve(await good());
  await settle();
  clock.advance(5_000);
  await settle();
  expect(requests).toHaveLength(2);
});

test.each([
  ["no answer", () => Promise.reject(new Error("timeout"))],
  ["junk", () => Promise.resolve(Buffer.from("junk"))],
  ["an error", () => Promise.resolve(encode({ ok: false, error: { code: "internal", message: "" } }))],
  ["a list", () => Promise.resolve(encode([1]))],
  ["no document", () => Promise.resolve(encode({ cluster_info: { nats_urls: "tls://x:1" } }))],
])("%s is asked again, ever more slowly", async (_, answer) => {
  const { clock, requests, reported } = hello(answer, 0.999_999);
  for (let minute = 0; minute < 60; minute++) {
    for (let i = 0; i < 6; i++) {
      clock.advance(10_000);
      await settle();
    }
  }
  expect(requests.length).toBeGreaterThan(12);
  expect(requests.length).toBeLessThan(20);
  expect(reported).toEqual([]);
});

const refusal = encode({ ok: false, error: { code: "rate_limited", message: "too many requests" } });

test("a caller waits while masters refuse, and hears the reason when they do not stop", async () => {
  const answers = [refusal, refusal, await good()];
  const { clock, running, requests, reported } = hello(async () => answers.shift() ?? refusal);
  const requested = running.now();
  await settle();
  expect(requests).toHaveLength(1);
  clock.advance(1_000);
  await settle();
  clock.advance(2_000);
  await requested;
  expect([requests.length, reported.length]).toEqual([3, 1]);

  const refused = running.now().catch((thrown: unknown) => thrown);
  for (let second = 0; second < 20; second++) {
    await settle();
    clock.advance(1_000);
  }
  expect(await refused).toMatchObject({
    kind: "rate_limited",
    message: "the masters refused: too many requests",
  });
});

test("callers that ask at once share a request that began after them", async () => {
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  const answers = [promise];
  const { clock, running, requests } = hello(() => answers.shift() ?? good());
  clock.advance(1_000);
  const all = Promise.all(Array.from({ length: 50 }, running.now));
  resolve(await good());
  await all;
  expect(requests).toHaveLength(2);
});

test("a caller that waits for masters learns that the peel stops", async () => {
  const { clock, running } = hello(async () => refusal);
  const requested = running.now().catch((thrown: unknown) => thrown);
  await settle();
  running.stop();
  expect(await requested).toMatchObject({ kind: "unavailable", message: "the peel stops" });
  expect(clock.pending).toBe(0);
});

test("nothing is asked while disconnected or after stopping, and no timer is left", async () => {
  const { clock, requests, connection, running, hint } = hello(good);
  connection.connected = false;
  clock.advance(60_000);
  running.stop();
  connection.connected = true;
  hint();
  clock.advance(60_000);
  await settle();
  expect([requests, clock.pending]).toEqual([[], 0]);
});

test("the commands it missed are handed on", async () => {
  const jobs = [Buffer.from("1"), Buffer.from("2"), "junk", 7];
  const { clock, commands, requests, reported } = hello(async () =>
    encode({ server_time: "2026-01-01T00:00:01.000Z", cluster_info: clusterInfo, jobs }),
  );
  clock.advance(1_000);
  await settle();
  expect(commands.map(String)).toEqual(["1", "2"]);
  clock.advance(60_000);
  await settle();
  expect([requests.length, reported.length]).toEqual([1, 1]);
});

test("an answer hands on at most 256 commands", async () => {
  const jobs = Array.from({ length: 300 }, () => Buffer.from("x"));
  const { clock, commands } = hello(async () => encode({ cluster_info: clusterInfo, jobs }));
  clock.advance(1_000);
  await settle();
  expect(commands).toHaveLength(256);
});

describe("a clock skew of more than 5 s is logged, without the round trip time:", () => {
  // The request leaves at :01, and the answer comes at :04.
  test.each([
    ["2026-01-01T00:00:09.000Z", undefined],
    ["2025-12-31T23:59:56.000Z", undefined],
    ["2026-01-01T00:00:10.000Z", -6_000],
    ["2026-01-01T01:00:04.000Z", -3_600_000],
    ["2025-12-31T23:59:55.000Z", 6_000],
    ["nonsense", undefined],
  ])("the masters say %s", async (server_time, ahead_ms) => {
    const { clock, log } = hello(async () => {
      // After the advance that let it ask.
      await settle();
      clock.advance(3_000);
      return encode({ server_time, cluster_info: clusterInfo });
    });
    clock.advance(1_000);
    await settle();
    await settle();
    const warnings = log.records.filter(({ level }) => level === "warn");
    expect(warnings.map(({ fields }) => fields.ahead_ms)).toEqual(ahead_ms === undefined ? [] : [ahead_ms]);
  });
});
