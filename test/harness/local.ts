import { type Local, openOutbox, startLocal } from "../../internal/agent/daemon/local.ts";
import { noMask } from "../../internal/agent/masking/mask.ts";
import { systemClock } from "../../internal/base/clock.ts";
import type { Log } from "../../internal/base/log.ts";
import { fixedFacts } from "./facts.ts";
import { fixedSettings } from "./settings.ts";

/** The local phase of a peel in a directory, with given facts. */
export function localIn(dataDir: string, peelId: string, log: Log): Local {
  const facts = fixedFacts({ id: peelId });
  const options = { peelId, dataDir, clock: systemClock, jitter: () => 0, log };
  return startLocal({
    ...options,
    ...openOutbox(options),
    mask: () => noMask,
    context: (signal) => ({ clock: systemClock, facts, settings: fixedSettings(), signal }),
  });
}
