import { describe, expect, test } from "bun:test";
import { systemRandom } from "../base/id.ts";
import { decode, encode } from "../base/msgpack.ts";
import { newKeyPair } from "../identity/nkey.ts";
import { type Command, openCommand, type RefusalReason, signCommand } from "./command.ts";

const key = newKeyPair("user", systemRandom);
const other = newKeyPair("user", systemRandom);
const command: Command = {
  kind: "dispatch",
  jid: "job-3MPFSICSuHM6n9ASVzK0s68GQu3",
  peel: "web-1",
  deadline: 10_000,
  body: encode({ function: "test.ping", args: {} }),
  proof: [],
};
const { kind, jid, peel } = command;
const trust = { keys: [key.publicKey], now: 9_999 };
const signed = signCommand(command, key);

/** The same message with some fields replaced, the signature kept. */
const altered = (change: Record<string, unknown>) => encode({ ...(decode(signed) as object), ...change });

test("a command opens for the peel it was signed for", () => {
  expect(openCommand(signed, { peel, on: { kind, jid } }, trust)).toEqual(command);
  expect(openCommand(signed, { peel }, trust)).toEqual(command);
});

describe("refused", () => {
  const refusals: [
    why: string,
    reason: RefusalReason,
    bytes: Uint8Array,
    at?: Partial<Pick<Command, "kind" | "jid" | "peel">>,
    how?: Partial<typeof trust>,
  ][] = [
    ["another peel's subject", "misdirected", signed, { peel: "web-2" }],
    ["another job's subject", "misdirected", signed, { jid: "job-x" }],
    ["another kind", "misdirected", signed, { kind: "stop" }],
    ["a deadline that has passed", "expired", signed, {}, { now: 10_000 }],
    ["an unknown key", "unknown_key", signCommand(command, other)],
    ["no trusted keys", "unknown_key", signed, {}, { keys: [] }],
    [
      "a claimed key that did not sign",
      "bad_signature",
      altered({ key: other.publicKey }),
      {},
      { keys: [other.publicKey] },
    ],
    ["a changed body", "bad_signature", altered({ body: encode({ function: "cmd.run", args: {} }) })],
    ["a changed peel", "bad_signature", altered({ peel: "web-2" }), { peel: "web-2" }],
    ["a changed job", "bad_signature", altered({ jid: "job-y" }), { jid: "job-y" }],
    ["a changed kind", "bad_signature", altered({ kind: "stop" }), { kind: "stop" }],
    ["a later deadline", "bad_signature", altered({ deadline: "2030-01-01T00:00:00.000Z" })],
    ["a missing field", "malformed", altered({ signature: undefined })],
    ["a missing proof", "malformed", altered({ proof: undefined })],
    ["junk", "malformed", encode("junk")],
    ["bytes that are not MessagePack", "malformed", Buffer.from([0xc1])],
  ];
  for (const [why, reason, bytes, at, how] of refusals) {
    test(why, () => {
      const said = { kind, jid, peel, ...at };
      const on = { kind: said.kind, jid: said.jid };
      expect(() => openCommand(bytes, { peel: said.peel, on }, { ...trust, ...how })).toThrow(
        expect.objectContaining({ kind: "forbidden", reason }),
      );
    });
  }

  test("for another peel, also in the answer to a hello", () => {
    expect(() => openCommand(signed, { peel: "web-2" }, trust)).toThrow("signed for another peel or job");
  });
});
