import { expect, test } from "bun:test";
import type { ServerInfo } from "nats";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { freeBudgets } from "../../../test/harness/operator-budgets.ts";
import { SvcError } from "../../base/errors.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { targetOperations } from "../../fleet/targeting/joined.ts";
import type { Target } from "../../fleet/targeting/resolve.ts";
import { type BusDoor, serveRoom } from "./bind.ts";

/** The service with a resolver that returns this, on a bus with this maximum message size in bytes. */
function serve(found: { peelId: string; alive: boolean }[], maxPayload = 1024 * 1024) {
  const requested: Target[] = [];
  const log = recordingLog();
  const served = new Map<string, (data: Uint8Array) => ReturnType<Parameters<Bus["serve"]>[2]>>();
  const bus: BusDoor["bus"] = {
    nats: { info: { max_payload: maxPayload } as ServerInfo },
    serve(subject, queue, answer) {
      served.set(`${subject} ${queue}`, (data) => answer(data, subject, { reply: "_INBOX.test" }));
      return { stop: () => {} };
    },
  };
  serveRoom({ bus, master: "master-1", clock: manualClock(), log, budgets: freeBudgets }, targetOperations, {
    resolver: {
      async resolveWithLife(target) {
        requested.push(target);
        if ("expression" in target && target.expression === "bad") {
          throw new SvcError("bad_request", "target: column 1: bad");
        }
        return found;
      },
    },
    mayUse: async (_, { args }) => args.environment !== "forbidden",
    async resolveFiles({ wanted: { environment, commit = "local" }, peels }) {
      if (environment === "gone") throw new SvcError("not_found", "there is no environment gone");
      const snapshot = (peels().includes("strict") ? "cd" : "ab").repeat(32);
      return { content: { environment, commit, snapshot } };
    },
  });
  const send = async (request: unknown) => {
    const answer = served.get("svc.target.resolve svc-target-resolvers");
    return decode((await answer?.(encode(request))) ?? new Uint8Array());
  };
  return { requested, send, log };
}

const operator = "alice";

test("returns the peels that a target selects, and which of them are alive", async () => {
  const { send, requested } = serve([
    { peelId: "a1", alive: true },
    { peelId: "b1", alive: false },
  ]);
  expect(await send({ target: "*", operator })).toEqual({
    ok: true,
    total: 2,
    targets: [
      { peel_id: "a1", alive: true },
      { peel_id: "b1", alive: false },
    ],
  });
  expect(await send({ targets: ["a1"], operator, after: "a1" })).toMatchObject({
    total: 2,
    targets: [{ peel_id: "b1" }],
  });
  expect(await send({ target: "x*", operator, after: "b1" })).toEqual({ ok: true, total: 2, targets: [] });
  expect(requested).toEqual([{ expression: "*" }, { peels: ["a1"] }, { expression: "x*" }]);
});

test("names the state files of a function that uses some, on the first page", async () => {
  const { send } = serve([{ peelId: "a1", alive: true }]);
  const apply = { target: "*", operator, function: "state.apply", args: { mods: ["web"] } };
  const snapshot = Buffer.from("ab".repeat(32), "hex");
  expect(await send(apply)).toEqual({
    ok: true,
    total: 1,
    targets: [{ peel_id: "a1", alive: true }],
    snapshot,
  });
  // Which files they are depends on the peels.
  const strict = serve([{ peelId: "strict", alive: true }]);
  expect(await strict.send(apply)).toMatchObject({ snapshot: Buffer.from("cd".repeat(32), "hex") });
  // As in the query of a URL.
  expect(await send({ ...apply, args: '{"environment": "base"}' })).toMatchObject({ snapshot });
  for (const other of [{ after: "a0" }, { function: "cmd.run" }, { function: "no.such" }]) {
    expect(await send({ ...apply, args: {}, ...other })).not.toHaveProperty("snapshot");
  }
  // A request for files that its caller may not run is refused when it is sent, and nothing is said of them before.
  expect(await send({ ...apply, args: { environment: "forbidden" } })).not.toHaveProperty("snapshot");
  const refused = (code: string, message: string) => ({
    ok: false,
    error: { code, message: expect.stringContaining(message) },
  });
  expect(await send({ ...apply, args: { environment: "gone" } })).toEqual(refused("not_found", "gone"));
  expect(await send({ ...apply, args: { mod: ["web"] } })).toEqual(refused("bad_request", "mod"));
  for (const args of ["{", "[]", 5]) {
    expect(await send({ ...apply, args })).toEqual(refused("bad_request", "args must be an object"));
  }
});

test("an answer that is too large is split into several messages", async () => {
  const found = Array.from({ length: 5_000 }, (_, i) => ({ peelId: `peel-${1_000_000 + i}`, alive: true }));
  const maxPayload = 64 * 1024 + 50_000;
  const { send } = serve(found, maxPayload);
  const all: string[] = [];
  let after: string | undefined;
  let pieces = 0;
  do {
    const answer = (await send({ target: "*", operator, after })) as {
      total: number;
      targets: { peel_id: string }[];
      next?: string;
    };
    expect(answer.total).toBe(5_000);
    expect(encode(answer).length).toBeLessThan(maxPayload);
    all.push(...answer.targets.map(({ peel_id }) => peel_id));
    after = answer.next;
    pieces++;
  } while (after !== undefined);
  expect(all).toEqual(found.map(({ peelId }) => peelId));
  expect(pieces).toBe(4);
});

test("a malformed request is refused with the name of the field", async () => {
  const { send, log } = serve([]);
  const refused = (message: string) => ({ ok: false, error: { code: "bad_request", message } });
  expect(await send({ target: "bad", operator })).toEqual(refused("target: column 1: bad"));
  expect(await send({ target: "*" })).toEqual(refused("operator is required"));
  expect(await send({ operator })).toEqual(refused("give either target or targets"));
  expect(await send({ operator, target: "*", targets: [] })).toEqual(
    refused("give either target or targets"),
  );
  expect(await send({ operator, target: 5 })).toEqual(refused("target: expected string"));
  expect(await send({ operator, targets: ["a1", 5] })).toEqual(refused("targets.1: expected string"));
  expect(new Set(log.records.map(({ level, event }) => `${level} ${event}`))).toEqual(
    new Set(["info bus request refused", "debug operation begins", "info operation refused"]),
  );
});
