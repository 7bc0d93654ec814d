import { expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { freeBudgets } from "../../../test/harness/operator-budgets.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { listenToOperators } from "./listen.ts";
import type { OperatorBudgets } from "./operator-budgets.ts";

const key = newKeyPair("user", systemRandom).publicKey;
const other = newKeyPair("user", systemRandom).publicKey;
const envelope = (of: unknown) => encode({ v: 1, body: new Uint8Array(), nonce: 1, key: of as string });
const plain = encode({ operator: "ann" });

function listening(required?: boolean, budgets: Pick<OperatorBudgets, "run"> = freeBudgets) {
  const served = new Map<string, { queue: string; answer: Parameters<Bus["serve"]>[2] }>();
  const bus: Pick<Bus, "serve"> = {
    serve(subject, queue, answer) {
      served.set(subject, { queue, answer });
      return { stop: () => void served.delete(subject) };
    },
  };
  const ear = {
    bus,
    log: recordingLog(),
    budgets,
    ...(required === undefined ? {} : { requests: { required } }),
  };
  const serving = listenToOperators(ear, "svc.job.*.cancel", "own", async ({ subject, user }) =>
    encode({ subject, user: user ?? null }),
  );
  return { served, serving };
}

test("it listens below the keys of bus users, and on the subject itself where nothing needs a signature", () => {
  const both = listening();
  expect([...both.served].map(([subject, { queue }]) => [subject, queue])).toEqual([
    ["svc.op.*.svc.job.*.cancel", "svc.masters"],
    ["svc.job.*.cancel", "own"],
  ]);
  both.serving.stop();
  expect(both.served.size).toBe(0);
  expect([...listening(false).served.keys()]).toHaveLength(2);
  expect([...listening(true).served.keys()]).toEqual(["svc.op.*.svc.job.*.cancel"]);
});

const below = `svc.op.${key}.svc.job.j.cancel`;
const itself = "svc.job.j.cancel";
test.each<[what: string, at: string, data: Uint8Array, reply: string, isAnswered: boolean]>([
  ["signed, in its inbox", below, envelope(key), `_INBOX.${key}.x`, true],
  ["signed, in the inbox of another user", below, envelope(key), `_INBOX.${other}.x`, false],
  [
    "signed by another key than sent it, in the inbox of the sender",
    below,
    envelope(other),
    `_INBOX.${key}.x`,
    true,
  ],
  [
    "signed by another key than sent it, in the inbox of the key",
    below,
    envelope(other),
    `_INBOX.${other}.x`,
    false,
  ],
  ["signed, in an inbox of nobody", below, envelope(key), "_INBOX.x", false],
  ["signed, in an inbox whose prefix only begins so", below, envelope(key), `_INBOX.${key}x.y`, false],
  ["signed, in an inbox of a peel", below, envelope(key), `_INBOX_${key}.x`, false],
  ["signed, in another account", below, envelope(key), "_R_.x", false],
  ["not signed, in its inbox", below, plain, `_INBOX.${key}.x`, true],
  ["not signed, in an inbox of nobody", below, plain, "_INBOX.x", true],
  ["not signed, in the inbox of another user", below, plain, `_INBOX.${other}.x`, false],
  ["no map, in another account", below, new Uint8Array(), "_R_.x", false],
  ["no map, in an inbox of nobody", below, new Uint8Array(), "_INBOX.x", true],
  [
    "signed and sent on the subject itself, in the inbox of the key",
    itself,
    envelope(key),
    `_INBOX.${key}.x`,
    true,
  ],
  ["signed and sent on the subject itself, in another inbox", itself, envelope(key), "_INBOX.x", false],
  ["malformed and sent on the subject itself", itself, envelope(1), "_INBOX.x", true],
  [
    "not signed and sent on the subject itself, in an inbox of a user",
    itself,
    plain,
    `_INBOX.${key}.x`,
    false,
  ],
])("a request is answered where its sender alone listens: %s", async (_, at, data, reply, isAnswered) => {
  const pattern = at === below ? "svc.op.*.svc.job.*.cancel" : "svc.job.*.cancel";
  const answer = await listening().served.get(pattern)?.answer(data, at, { reply });
  const user = at === below ? key : null;
  expect(answer === undefined ? undefined : decode(answer)).toEqual(
    isAnswered ? { subject: itself, user } : undefined,
  );
});

const spent: Pick<OperatorBudgets, "run"> = {
  run: async () => {
    throw new SvcError("rate_limited", "too many requests", { retryAfterMs: 20 });
  },
};
test.each<[what: string, at: string, data: Uint8Array, reply: string, isAnswered: boolean]>([
  ["signed, in its inbox", below, envelope(key), `_INBOX.${key}.x`, true],
  ["no map, in its inbox", below, Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff), `_INBOX.${key}.x`, true],
  ["not signed, in an inbox of nobody", below, plain, "_INBOX.x", true],
  ["signed, in the inbox of another user", below, envelope(key), `_INBOX.${other}.x`, false],
  ["signed, in another account", below, envelope(key), "_R_.x", false],
  ["sent on the subject itself, in the inbox of the key", itself, envelope(key), `_INBOX.${key}.x`, true],
  ["sent on the subject itself, in another inbox", itself, envelope(key), `_INBOX.${other}.x`, false],
  ["sent on the subject itself, not signed", itself, plain, "_INBOX.x", true],
  ["large, sent on the subject itself", itself, new Uint8Array(70_000), "_INBOX.x", false],
])(
  "a request beyond the budget is refused where its sender alone listens: %s",
  async (_, at, data, reply, isAnswered) => {
    const pattern = at === below ? "svc.op.*.svc.job.*.cancel" : "svc.job.*.cancel";
    const answer = await listening(undefined, spent).served.get(pattern)?.answer(data, at, { reply });
    expect(answer === undefined ? undefined : decode(answer)).toEqual(
      isAnswered
        ? { ok: false, error: { code: "rate_limited", message: "too many requests", retry_after_ms: 20 } }
        : undefined,
    );
  },
);
