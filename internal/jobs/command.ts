import { createHash } from "node:crypto";
import * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import { decode, encode } from "../base/msgpack.ts";
import { type KeyPair, verifySignature } from "../identity/nkey.ts";

// The bus only carries commands; it cannot make them. A command is signed by a master over its kind,
// job, peel, deadline and the digest of its body, so that nothing of it can be changed, replayed to
// another peel, or turned into another kind of command (decisions, "Signed commands").

export type CommandKind = "dispatch" | "stop";

/** An order to one peel. */
export interface Command {
  kind: CommandKind;
  jid: string;
  /** Encoded peel id. */
  peel: string;
  /** Milliseconds since the Unix epoch; after it the command is void. */
  deadline: number;
  body: Uint8Array;
}

const envelope = v.object({
  kind: v.picklist(["dispatch", "stop"]),
  jid: v.string(),
  peel: v.string(),
  deadline: v.pipe(v.string(), v.isoTimestamp()),
  body: v.instance(Uint8Array),
  key: v.string(),
  signature: v.instance(Uint8Array),
});

/** Signs a command with a command key and encodes it for the bus. */
export function signCommand(command: Command, key: KeyPair): Uint8Array {
  return encode({
    ...command,
    deadline: rfc3339(command.deadline),
    key: key.publicKey,
    signature: key.sign(signedBytes(command)),
  });
}

/**
 * Decodes a command and checks that one of the trusted keys signed it for this peel, this kind and a
 * deadline that has not passed.
 *
 * @param expected what the subject says, which is where it arrived
 * @throws SvcError `forbidden` with the reason to refuse it
 */
export function openCommand(
  bytes: Uint8Array,
  expected: { kind: CommandKind; jid: string; peel: string },
  trust: { keys: readonly string[]; now: number },
): Command {
  const parsed = v.safeParse(envelope, decode(bytes));
  if (!parsed.success) throw new SvcError("forbidden", "malformed command");
  const { key, signature, ...rest } = parsed.output;
  const command: Command = { ...rest, deadline: Date.parse(rest.deadline) };
  if (!trust.keys.includes(key)) throw new SvcError("forbidden", "signed by an unknown command key");
  if (!verifySignature("user", key, signedBytes(command), signature)) {
    throw new SvcError("forbidden", "the signature is wrong");
  }
  if (command.kind !== expected.kind || command.jid !== expected.jid || command.peel !== expected.peel) {
    throw new SvcError("forbidden", "signed for another peel or job");
  }
  if (command.deadline <= trust.now) throw new SvcError("forbidden", "the deadline has passed");
  return command;
}

function signedBytes({ kind, jid, peel, deadline, body }: Command): Uint8Array {
  const digest = createHash("sha256").update(body).digest();
  const head = ["svc/command/v1", kind, jid, peel, rfc3339(deadline), ""].join("\0");
  return Buffer.concat([Buffer.from(head, "utf8"), digest]);
}
