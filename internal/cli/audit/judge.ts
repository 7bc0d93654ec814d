import { decodeBase64Url } from "../../base/base64.ts";
import { readHead } from "../../wire/audit-head.ts";
import type { VerifiedChain } from "./read-chain.ts";
import type { RememberedHead, Witness } from "./witness.ts";

/** A peel compared with the audit. */
export interface JudgedWitness {
  peel: string;
  /** How many entries it remembers. */
  heads: number;
  /** The greatest of them. */
  newest?: number;
  /** What contradicts; absent when nothing does. */
  problem?: string;
}

/**
 * Compares what a peel remembers with the chain that the masters hold. What it remembers counts only as a master
 * signed it: a peel alone can accuse nobody.
 */
export function judgeWitnesses({ peel, heads, error }: Witness, chain: VerifiedChain): JudgedWitness {
  if (error !== undefined) return { peel, heads: 0 };
  const judged = heads.map((head) => judge(head, chain));
  const latest = heads.reduce(
    (found, { seenAt }, index) => (seenAt >= (heads[found]?.seenAt ?? "") ? index : found),
    0,
  );
  // What it saw before it came to this fleet was signed by others.
  const relevant = judged.filter((one, index) => one !== "foreign" || index === latest);
  const problem = relevant.find((one) => one !== undefined);
  const newest = Math.max(0, ...heads.map(({ seq }) => seq));
  return {
    peel,
    heads: heads.length,
    ...(newest === 0 ? {} : { newest }),
    ...(problem === undefined
      ? {}
      : {
          problem:
            problem === "foreign"
              ? "its newest head is signed with a key that the masters do not name"
              : problem,
        }),
  };
}

function judge(head: RememberedHead, chain: VerifiedChain): string | undefined {
  let signed: ReturnType<typeof readHead>;
  try {
    signed = readHead(decodeBase64Url(head.signed) ?? new Uint8Array(), chain.keys);
  } catch {
    return "foreign";
  }
  const { seq, at } = signed;
  const hash = Buffer.from(signed.hash).toString("hex");
  if (seq > chain.last)
    return `it saw entry ${seq}, and the audit ends with ${chain.last}: entries were removed`;
  if (seq < chain.first) {
    if (at < chain.keptSince) return undefined;
    return `it saw entry ${seq}, which has not expired, and the audit begins with ${chain.first}: entries were removed`;
  }
  const stored = chain.hashes.get(seq);
  if (stored === hash) return undefined;
  return stored === undefined
    ? `it saw entry ${seq}, which is missing`
    : `it saw another entry ${seq}: the audit was rewritten there or before`;
}
