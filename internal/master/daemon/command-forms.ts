import * as v from "valibot";
import { decodeForeign } from "../../base/msgpack.ts";
import type { FleetIndex } from "../../fleet/targeting/mod.ts";
import { newestForm } from "../../wire/command.ts";

/** Heartbeats take up to this many bytes. */
const maxMessageBytes = 4096;
const form = v.object({ command_form: v.pipe(v.number(), v.minValue(newestForm)) });

/**
 * Follows which peels open commands that are signed for many peels at once. The last heartbeat counts: after a
 * downgrade, a peel of an earlier version does not say it. Nothing depends on the truth of it: a peel that says it and
 * does not open such a command gets one for itself alone when it has not accepted the first.
 */
export function followCommandForms(index: Pick<FleetIndex, "onBeat">): {
  opensProofs(peel: string): boolean;
  stop(): void;
} {
  const able = new Set<string>();
  const stop = index.onBeat((peel, _, value) => {
    if (isAble(value)) able.add(peel);
    else able.delete(peel);
  });
  return { opensProofs: (peel) => able.has(peel), stop };
}

function isAble(value: Uint8Array): boolean {
  try {
    return v.is(form, decodeForeign(value, maxMessageBytes));
  } catch {
    return false;
  }
}
