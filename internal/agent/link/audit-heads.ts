import * as v from "valibot";
import { decodeBase64Url, encodeBase64Url } from "../../base/base64.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import type { AuditWitness } from "../../host/modules/mod.ts";
import { readHead } from "../../wire/audit-head.ts";

/** How many heads a peel keeps, spread over the whole audit. */
const maxHeads = 32;

/** What a peel remembers of the audit of its fleet, so that nobody can rewrite it without this host. */
export interface AuditHeads extends AuditWitness {
  /** Takes what masters say is the newest entry. What no command key signed is logged and ignored. */
  take(signed: Uint8Array): void;
}

interface Kept {
  seq: number;
  hash: string;
  at: number;
  /** By the clock of this host, milliseconds since the Unix epoch. */
  seenAt: number;
  signed: Uint8Array;
}

const stored = v.strictObject({
  v: v.literal(1),
  heads: v.array(v.strictObject({ signed: v.string(), seen_at: v.number() })),
});

/**
 * Opens what this peel remembers. The greatest head stays. A smaller one, or another one for the same entry, replaces
 * nothing: it is kept as well, and an operator who verifies the audit compares them all.
 *
 * @param options.path its file, which survives restarts
 * @param options.commandKeys those whose signatures count now
 */
export function openAuditHeads(options: {
  path: string;
  commandKeys: { readonly current: readonly string[] };
  clock: Pick<Clock, "now">;
  log: Log;
}): AuditHeads {
  const { path, commandKeys, clock, log } = options;
  let heads = load(path, log);

  const retain = (head: Kept) => {
    const found = heads.find(({ seq }) => seq === head.seq);
    if (found !== undefined) {
      log.error(
        "masters named two different entries of the audit at the same place: compare them with svc audit verify",
        {
          seq: head.seq,
        },
      );
    }
    heads = thinned([...heads, head].toSorted((one, other) => one.seq - other.seq));
    const form = {
      v: 1,
      heads: heads.map(({ signed, seenAt }) => ({ signed: encodeBase64Url(signed), seen_at: seenAt })),
    };
    try {
      writeFileAtomic(path, `${JSON.stringify(form)}\n`, secretMode);
    } catch (thrown) {
      log.warn("the head of the audit is kept in memory only", { path, reason: describeError(thrown) });
    }
  };
  return {
    take(signed) {
      let head: Kept;
      try {
        head = keptOf(signed, commandKeys.current, clock.now());
      } catch (thrown) {
        log.warn("a head of the audit was refused", { reason: describeError(thrown) });
        return;
      }
      if (!heads.some(({ seq, hash }) => seq === head.seq && hash === head.hash)) retain(head);
    },
    remembered: () =>
      heads.map(({ seq, hash, at, seenAt, signed }) => ({
        seq,
        hash,
        at: rfc3339(at),
        seen_at: rfc3339(seenAt),
        signed: encodeBase64Url(signed),
      })),
  };
}

function keptOf(signed: Uint8Array, keys: readonly string[] | undefined, seenAt: number): Kept {
  const { seq, hash, at } = readHead(signed, keys);
  return { seq, hash: Buffer.from(hash).toString("hex"), at, seenAt, signed: Uint8Array.from(signed) };
}

/** A file that cannot be read counts as empty: a witness that lost its memory is one less. */
function load(path: string, log: Log): Kept[] {
  try {
    const text = readTextIfPresent(path);
    if (text === undefined) return [];
    const { heads } = v.parse(stored, JSON.parse(text));
    // Their keys may have been replaced since; only this peel writes here.
    return heads.map(({ signed, seen_at }) =>
      keptOf(decodeBase64Url(signed) ?? new Uint8Array(), undefined, seen_at),
    );
  } catch (thrown) {
    log.warn("what this peel remembers of the audit cannot be read", { path, reason: describeError(thrown) });
    return [];
  }
}

/** Drops the head whose neighbors are closest; never the oldest, the newest, or one of two for the same entry. */
function thinned(heads: readonly Kept[]): Kept[] {
  if (heads.length <= maxHeads) return [...heads];
  let drop = 1;
  let min = Number.POSITIVE_INFINITY;
  for (let index = 1; index < heads.length - 1; index++) {
    const [before, own, after] = [
      heads[index - 1]?.seq ?? 0,
      heads[index]?.seq ?? 0,
      heads[index + 1]?.seq ?? 0,
    ];
    const gap = before === own || own === after ? Number.POSITIVE_INFINITY : after - before;
    if (gap < min) [drop, min] = [index, gap];
  }
  return thinned(heads.toSpliced(drop, 1));
}
