import { decodeBase64Url } from "../../base/base64.ts";
import { rfc3339 } from "../../base/clock.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import {
  auditOperations,
  type ChainProblem,
  contradictionsOf,
  createChainCheck,
  missingAtTheEnd,
} from "../../fleet/audit/mod.ts";
import { request } from "../request.ts";

/** A whole page takes longer than most answers. */
const timeoutMs = 15_000;

/** What the masters hold of the audit, verified. */
export interface VerifiedChain {
  count: number;
  /** Sequence of the oldest entry that is stored. */
  first: number;
  last: number;
  /** RFC 3339. */
  firstAt: string;
  problems: readonly ChainProblem[];
  /** How many were found; not all are listed. */
  found: number;
  /** The public command keys that the fleet has or had. */
  keys: readonly string[];
  /** Entries since then have not expired, milliseconds since the Unix epoch. */
  keptSince: number;
  /** The hashes of the entries that were asked for, in hexadecimal. */
  hashes: ReadonlyMap<number, string>;
}

/**
 * Reads all entries through the masters, and verifies each.
 *
 * @param wanted the sequences whose hashes are needed
 * @throws SvcError as the masters answer
 */
export async function readWholeChain(bus: Bus, wanted: readonly { seq: number }[]): Promise<VerifiedChain> {
  const sequences = new Set(wanted.map(({ seq }) => seq));
  const hashes = new Map<number, string>();
  const page = (from: number) => request(bus, auditOperations.readChain, { from }, { timeoutMs });
  let answer = await page(1);
  const { first, last: newest, keys, kept_since, remembered } = answer;
  if (remembered !== undefined) sequences.add(remembered.last);
  const checking = createChainCheck(keys, first);
  let firstAt = "";
  for (;;) {
    for (const { seq, stored } of answer.entries) {
      const entry = checking.take({ sequence: seq, bytes: decodeBase64Url(stored) ?? new Uint8Array() });
      if (firstAt === "" && entry !== undefined) firstAt = rfc3339(entry.at);
      if (sequences.has(seq)) hashes.set(seq, Buffer.from(checking.last?.hash ?? []).toString("hex"));
    }
    if (answer.next === undefined) break;
    answer = await page(answer.next);
  }
  const { count } = checking;
  const last = checking.last?.seq ?? 0;
  const others = [
    ...missingAtTheEnd(first, last, newest),
    ...contradictionsOf(remembered, {
      ...{ first, last: Math.max(last, newest) },
      hash: remembered === undefined ? undefined : hashes.get(remembered.last),
    }),
  ];
  const problems = [...checking.problems, ...others];
  const found = checking.found + others.length;
  return {
    ...{ count, first, last, firstAt, problems, found, keys, hashes },
    keptSince: Date.parse(kept_since),
  };
}
