import { type Clock, sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { shareRuns } from "../../base/share-runs.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { sequenceAt, streamEnds } from "../../bus/streams/mod.ts";
import { auditStream } from "./append.ts";
import type { Entry } from "./entry.ts";
import { readEntriesAfter } from "./read-entries.ts";

/**
 * How long an entry can be repeated. A request is refused when its time is a minute off, and the clocks of two
 * masters and of the bus may be a minute off as well.
 */
const windowMs = 5 * 60_000;
/** A server of a cluster may show an entry a moment after another one has stored it. */
const checks = 20;
const pauseMs = 100;

/** A signed request whose beginning is recorded. */
export interface OnceRequest {
  action: string;
  /** The public key that signed it, and its nonce in hexadecimal. */
  key: string;
  nonce: string;
}

/** Which signed requests have begun, on whichever master. */
export interface Repeats {
  /**
   * Whether an earlier entry says that the same request began.
   *
   * @param seq of the entry that says that it begins now
   * @throws SvcError `unavailable` when the audit does not show that entry; `storage`
   */
  isRepeated(request: OnceRequest, seq: number): Promise<boolean>;
}

/**
 * Finds requests that are sent a second time by an attacker who controls the bus and deleted the nonces that were used: the
 * audit still has their beginning. Of two masters that take one at the same moment, the later entry loses.
 *
 * @param options.keys the public command keys that the fleet has or had
 */
export function createRepeats(options: { bus: Bus; keys(): readonly string[]; clock: Clock }): Repeats {
  const { bus, keys, clock } = options;
  const byAction = new Map<string, ReturnType<typeof followAction>>();

  const followAction = (action: string) => {
    /** The first entry of each request, oldest first. */
    const begun = new Map<string, { seq: number; at: number }>();
    let after: number | undefined;
    const take = ({ seq, at, key, outcome, subjects }: Entry) => {
      const { nonce } = subjects;
      if (outcome !== "begun" || typeof nonce !== "string") return;
      const id = idOf({ key, nonce });
      if ((begun.get(id)?.seq ?? seq) >= seq) begun.set(id, { seq, at });
    };
    const refresh = shareRuns(async () => {
      const now = clock.now();
      for (const [id, { at }] of begun) {
        if (at > now - windowMs) break;
        begun.delete(id);
      }
      after ??= ((await sequenceAt(bus, auditStream, now - windowMs)) ?? 1) - 1;
      const ends = await streamEnds(bus, auditStream);
      after = await readEntriesAfter({ bus, keys, actions: action, after, ends, take });
    });
    return {
      begun,
      refresh,
      /** Reads again what was read up to a place: since then the stream may be another one, which is as long. */
      readAgain(upTo: number) {
        if (after !== undefined && upTo <= after) after = undefined;
      },
    };
  };
  return {
    async isRepeated(request, seq) {
      const known = byAction.get(request.action) ?? followAction(request.action);
      byAction.set(request.action, known);
      for (let check = 0; check < checks; check++) {
        if (check > 0) await sleep(clock, pauseMs);
        await known.refresh();
        const first = known.begun.get(idOf(request))?.seq;
        if (first !== undefined) return first < seq;
        known.readAgain(seq);
      }
      throw new SvcError("unavailable", "the audit does not show what was just written to it: try again");
    },
  };
}

const idOf = ({ key, nonce }: Pick<OnceRequest, "key" | "nonce">): string => `${key}.${nonce}`;
