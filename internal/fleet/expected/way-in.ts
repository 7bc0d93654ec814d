import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import { keyFingerprint } from "../../identity/mod.ts";
import type { WayIn } from "../enrollment/joining/mod.ts";
import type { LacksForLabels } from "../roles/mod.ts";
import { findExpected } from "./store.ts";
import { deciderOf, giveBack, isOpen, type TakeDeps, take } from "./taken.ts";

export interface ExpectedWayDeps extends TakeDeps {
  lacks: LacksForLabels;
  clock: Pick<Clock, "now">;
}

/**
 * Admits hosts that an operator expects, each entry once. A host that asks under an expected peel id with another
 * key is held: an operator expects a different one.
 */
export function createExpectedWay(deps: ExpectedWayDeps): WayIn {
  const { clock, log, lacks } = deps;
  return {
    async judge({ submission: { peelId, publicKey }, record }) {
      const now = clock.now();
      const found = await findExpected(deps, peelId);
      if (found === undefined || found.host.endsAt <= now) return undefined;
      const { labels } = found.host;
      const by = deciderOf(found.host);
      if (!isOpen(found.host, publicKey, now)) {
        log.warn("a host asks under an expected peel id with another key", {
          peel_id: peelId,
          fingerprint: keyFingerprint(publicKey),
          expected: keyFingerprint(found.host.publicKey),
        });
        return { decide: "hold", by };
      }
      const lacking = await lacks(found.host.maker, {
        own: labels ?? {},
        former: record.former?.labels ?? {},
      });
      if (lacking !== undefined) {
        log.warn("an expected host waits: who expected it lacks the right to give its labels", {
          ...{ peel_id: peelId, expected_by: found.host.by, lacking },
        });
        return { decide: "hold", by, proven: true };
      }
      if (record.trustMismatch === true) return { decide: "hold", by, ...defined({ labels }) };
      const { id: enrollment } = record;
      const taken = await take(deps, { peelId, publicKey, enrollment }, now);
      if (taken === undefined) return undefined;
      return {
        ...{ decide: "approve", by: deciderOf(taken), proven: true },
        ...defined({ labels: taken.labels }),
        async giveBack() {
          try {
            await giveBack(deps, peelId, enrollment);
          } catch (thrown) {
            // It stays taken by an enrollment that does not exist, which keeps nobody out.
            log.warn("an expected host is not free again yet", {
              peel_id: peelId,
              reason: describeError(thrown),
            });
          }
        },
      };
    },
  };
}
