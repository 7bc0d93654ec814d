import { describe, expect, test } from "bun:test";
import { systemRandom } from "../base/id.ts";
import { decode, encode } from "../base/msgpack.ts";
import { newKeyPair } from "../identity/nkey.ts";
import { type Command, openCommand, signCommand } from "./command.ts";

const key = newKeyPair("user", systemRandom);
const other = newKeyPair("user", systemRandom);
const command: Command = {
  kind: "dispatch",
  jid: "job-3MPFSICSuHM6n9ASVzK0s68GQu3",
  peel: "web-1",
  deadline: 10_000,
  body: encode({ function: "test.ping", args: {} }),
};
const expected = { kind: command.kind, jid: command.jid, peel: command.peel };
const trust = { keys: [key.publicKey], now: 9_999 };
const signed = signCommand(command, key);

/** The same message with some fields replaced, the signature kept. */
const altered = (change: Record<string, unknown>) => encode({ ...(decode(signed) as object), ...change });

test("a command opens for the peel it was signed for", () => {
  expect(openCommand(signed, expected, trust)).toEqual(command);
});

describe("refused", () => {
  const refusals: [
    why: string,
    bytes: Uint8Array,
    at?: Partial<typeof expected>,
    how?: Partial<typeof trust>,
  ][] = [
    ["another peel's subject", signed, { peel: "web-2" }],
    ["another job's subject", signed, { jid: "job-x" }],
    ["another kind", signed, { kind: "stop" }],
    ["a deadline that has passed", signed, {}, { now: 10_000 }],
    ["an unknown key", signCommand(command, other)],
    ["no trusted keys", signed, {}, { keys: [] }],
    ["a claimed key that did not sign", altered({ key: other.publicKey }), {}, { keys: [other.publicKey] }],
    ["a changed body", altered({ body: encode({ function: "cmd.run", args: {} }) })],
    ["a changed peel", altered({ peel: "web-2" }), { peel: "web-2" }],
    ["a changed job", altered({ jid: "job-y" }), { jid: "job-y" }],
    ["a changed kind", altered({ kind: "stop" }), { kind: "stop" }],
    ["a later deadline", altered({ deadline: "2030-01-01T00:00:00.000Z" })],
    ["a missing field", altered({ signature: undefined })],
    ["junk", encode("junk")],
  ];
  for (const [why, bytes, at, how] of refusals) {
    test(why, () => {
      expect(() => openCommand(bytes, { ...expected, ...at }, { ...trust, ...how })).toThrow(
        expect.objectContaining({ kind: "forbidden" }),
      );
    });
  }
});
