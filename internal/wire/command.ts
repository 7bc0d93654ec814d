import * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import { mapEncoder } from "../base/msgpack.ts";
import { record } from "../base/record.ts";
import { blob, time } from "../base/record-kinds.ts";
import { sha256 } from "../base/sha256.ts";
import {
  merkleTree,
  type ProofStep,
  type ProvingTree,
  packProof,
  rootOf,
  unpackProof,
} from "../identity/merkle/mod.ts";
import { type KeyPair, verifySignature } from "../identity/mod.ts";

// The bus carries commands, but cannot create them. A master signs the kind, job, peel and deadline of a
// command, and the digest of its body. So a command cannot be changed, replayed to another peel, or turned
// into another kind of command (decisions, "Signed commands").
//
// The signature is for the root of a Merkle tree over the peels of the job: a master signs once, and each command
// carries the proof that its peel is in the tree.

/** The proof of a job with the most targets has 17 steps. */
const maxProofSteps = 32;

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
  /** That its peel is one of those that the signature is for; empty in a command for one peel alone. */
  proof: readonly ProofStep[];
}

/** What a command is about, without its peel. */
export type Order = Omit<Command, "peel" | "proof">;

/** What a command for one peel and one for a site have in common. */
export const orderFields = {
  jid: v.string(),
  deadline: time,
  body: blob,
  key: v.string(),
  signature: blob,
} as const;
const envelope = record(
  "command",
  {
    ...{ kind: v.picklist(["dispatch", "stop"]), peel: v.string(), ...orderFields },
    proof: v.pipe(
      blob,
      v.rawTransform(({ dataset, addIssue, NEVER }) => {
        const proof = unpackProof(dataset.value, maxProofSteps);
        if (proof !== undefined) return proof;
        addIssue({ message: "not a proof" });
        return NEVER;
      }),
    ),
  },
  { isOpen: true },
);

/** Why a command is refused: a closed set, because it labels a metric. */
export const refusalReasons = [
  "malformed",
  "unknown_key",
  "bad_signature",
  "misdirected",
  "expired",
  "unsigned",
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

/** Signs a command for one peel with a command key and encodes it for the bus. */
export function signCommand({ peel, ...order }: Omit<Command, "proof">, key: KeyPair): Uint8Array {
  return signForAll(order, merkleTree([peel]), key)(peel);
}

/** The order of a command, encoded with the signature that is for all peels of the tree. @internal */
export function signOrder(order: Order, root: Uint8Array, key: KeyPair) {
  const deadline = rfc3339(order.deadline);
  const signature = key.sign(signedBytes({ ...order, deadline }, root));
  return { ...order, deadline, key: key.publicKey, signature };
}

/**
 * Signs the same order for many peels at once.
 *
 * @param tree over the encoded ids of these peels
 * @returns what encodes the command for one of them; it throws for another peel
 */
export function signForAll(order: Order, tree: ProvingTree, key: KeyPair): (peel: string) => Uint8Array {
  const encodeWith = mapEncoder(signOrder(order, tree.root, key));
  return (peel) => {
    const proof = tree.proofOf(peel);
    if (proof === undefined) throw new RangeError("a command for a peel that is not signed for");
    return encodeWith({ peel, proof: packProof(proof) });
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
  const signed = envelope.decodeOrNothing(bytes);
  if (signed === undefined) throw new CommandRefused("malformed", "malformed command");
  return openSigned(signed, expected, trust);
}

/** Judges a command that was decoded. @throws CommandRefused @internal */
export function openSigned(
  { key, signature, ...command }: Command & { key: string; signature: Uint8Array },
  expected: { peel: string; on?: { kind: CommandKind; jid: string } },
  trust: { keys: readonly string[]; now: number },
): Command {
  if (!trust.keys.includes(key)) throw new CommandRefused("unknown_key", "signed by an unknown command key");
  const order = { ...command, deadline: rfc3339(command.deadline) };
  // A wrong proof leads to another root, which nobody signed.
  const signed = signedBytes(order, rootOf(command.peel, command.proof) ?? new Uint8Array());
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

/** @param deadline RFC 3339 @param root of the tree over the peels */
function signedBytes(
  { kind, jid, deadline, body }: Pick<Command, "kind" | "jid" | "body"> & { deadline: string },
  root: Uint8Array,
): Uint8Array {
  const head = ["svc/command/v1", kind, jid, deadline, ""].join("\0");
  return Buffer.concat([Buffer.from(head, "utf8"), root, sha256(body)]);
}
