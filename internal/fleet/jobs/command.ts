import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import { type KeyPair, verifySignature } from "../../identity/mod.ts";

// The bus carries commands, but cannot create them. A master signs the kind, job, peel and deadline of a
// command, and the digest of its body. So a command cannot be changed, replayed to another peel, or turned
// into another kind of command (decisions, "Signed commands").

export type CommandKind = "dispatch" | "stop";

/** An order to one peel. */
export interface Command {
  kind: CommandKind;
  jid: string;
  /** Encoded peel id. */
  peel: string;
  /** Milliseconds since the Unix epoch; after it the command is invalid. */
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

/** Why a command is refused: a closed set, because it labels a metric. */
export const refusalReasons = [
  "malformed",
  "unknown_key",
  "bad_signature",
  "misdirected",
  "expired",
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** A command that must not be obeyed. */
export class CommandRefused extends SvcError {
  readonly reason: RefusalReason;
  /** Its content, when a master did sign it. */
  readonly command: Command | undefined;

  constructor(reason: RefusalReason, message: string, command?: Command) {
    super("forbidden", message);
    this.reason = reason;
    this.command = command;
  }
}

/** Signs a command with a command key and encodes it for the bus. */
export function signCommand({ peel, ...order }: Command, key: KeyPair): Uint8Array {
  return commandSigner(order, key)(peel);
}

/** Signs the same order for many peels; the common parts are computed once. */
export function commandSigner(order: Omit<Command, "peel">, key: KeyPair): (peel: string) => Uint8Array {
  const deadline = rfc3339(order.deadline);
  const digest = sha256(order.body);
  return (peel) => {
    const signature = key.sign(signedBytes({ ...order, peel, deadline }, digest));
    return encode({ ...order, peel, deadline, key: key.publicKey, signature });
  };
}

/**
 * Decodes a command and checks that one of the trusted keys signed it for this peel, this kind and a deadline
 * that has not passed.
 *
 * @param expected the values of the subject on which it arrived; a command in the reply to a hello has no
 * subject, so only its peel is checked
 * @throws CommandRefused
 */
export function openCommand(
  bytes: Uint8Array,
  expected: { peel: string; on?: { kind: CommandKind; jid: string } },
  trust: { keys: readonly string[]; now: number },
): Command {
  const { key, signature, ...rest } = decodeEnvelope(bytes);
  const command: Command = { ...rest, deadline: Date.parse(rest.deadline) };
  if (!trust.keys.includes(key)) throw new CommandRefused("unknown_key", "signed by an unknown command key");
  const signed = signedBytes({ ...command, deadline: rfc3339(command.deadline) }, sha256(command.body));
  if (!verifySignature("user", key, signed, signature)) {
    throw new CommandRefused("bad_signature", "the signature is wrong");
  }
  const { kind, jid } = expected.on ?? command;
  if (command.kind !== kind || command.jid !== jid || command.peel !== expected.peel) {
    throw new CommandRefused("misdirected", "signed for another peel or job", command);
  }
  if (command.deadline <= trust.now) {
    throw new CommandRefused("expired", "the deadline has passed", command);
  }
  return command;
}

function decodeEnvelope(bytes: Uint8Array): v.InferOutput<typeof envelope> {
  try {
    const parsed = v.safeParse(envelope, decode(bytes));
    if (parsed.success) return parsed.output;
  } catch {
    // Bytes that are not MessagePack are not a command.
  }
  throw new CommandRefused("malformed", "malformed command");
}

/** @param deadline RFC 3339 */
function signedBytes(
  { kind, jid, peel, deadline }: Pick<Command, "kind" | "jid" | "peel"> & { deadline: string },
  digest: Uint8Array,
): Uint8Array {
  const head = ["svc/command/v1", kind, jid, peel, deadline, ""].join("\0");
  return Buffer.concat([Buffer.from(head, "utf8"), digest]);
}
