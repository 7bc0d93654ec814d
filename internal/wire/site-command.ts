import * as v from "valibot";
import { defined } from "../base/defined.ts";
import { encode, foreign } from "../base/msgpack.ts";
import { record } from "../base/record.ts";
import { blob, optional, part } from "../base/record-kinds.ts";
import { merkleTree, type ProvingTree, partialTree, type TreePart } from "../identity/merkle/mod.ts";
import type { KeyPair } from "../identity/mod.ts";
import { type Command, CommandRefused, type Order, openSigned, orderFields, signOrder } from "./command.ts";

// One command for many peels of a site crosses the wide link once. It has the ids of all its peels in
// place of the proof for one: each peel computes the tree, and its own proof.

/** A larger command is sent to each peel: the bus and the peels bound what they take. */
const maxBytes = 512 * 1024;

/** The peels of a command for a site. */
export interface SiteTargets {
  /** Encoded ids. */
  peels: readonly string[];
  /** Their places in a larger tree, if the signature is for that one. */
  part?: TreePart;
}

const place = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const isOpen = true;
const envelope = record(
  "command for a site",
  {
    ...{ kind: v.literal("dispatch"), ...orderFields, peels: v.array(v.string()) },
    part: optional(
      part({ size: v.pipe(place, v.minValue(1)), places: v.array(place), beside: v.array(blob) }, { isOpen }),
    ),
  },
  { isOpen, limits: foreign(maxBytes) },
);

/** The tree of the peels. */
const treeOf = ({ peels, part }: SiteTargets): ProvingTree =>
  part === undefined ? merkleTree(peels) : partialTree(part, peels);

/**
 * Signs an order for many peels at once, and encodes it for all of them.
 *
 * @returns `undefined` when it is too large for one message
 */
export function signForSite(order: Order, targets: SiteTargets, key: KeyPair): Uint8Array | undefined {
  const { peels, part } = targets;
  const signed = signOrder(order, treeOf(targets).root, key);
  const bytes = encode({ ...signed, peels: [...peels], ...defined({ part }) });
  return bytes.length > maxBytes ? undefined : bytes;
}

/**
 * Decodes a command for the peels of a site, as `openCommand` does one for a single peel.
 *
 * @returns `undefined` when it is not for this peel
 * @throws CommandRefused
 */
export function openSiteCommand(
  bytes: Uint8Array,
  expected: { peel: string; jid: string },
  trust: { keys: readonly string[]; now: number },
): Command | undefined {
  const decoded = envelope.decodeOrNothing(bytes);
  if (decoded === undefined) throw new CommandRefused("malformed", "malformed command");
  const { peels, part, key, signature, ...order } = decoded;
  const { peel, jid } = expected;
  // What is only for others is their business.
  if (!peels.includes(peel)) return undefined;
  // Before any hash is computed: the sender chooses the length of the list.
  if (!trust.keys.includes(key)) throw new CommandRefused("unknown_key", "signed by an unknown command key");
  const proof = treeOf({ peels, ...defined({ part }) }).proofOf(peel);
  if (proof === undefined) throw new CommandRefused("malformed", "malformed command");
  const command = { ...order, peel, proof, key, signature };
  return openSigned(command, { peel, on: { kind: "dispatch", jid } }, trust);
}
