import { systemClock } from "../../internal/base/clock.ts";
import { describeError } from "../../internal/base/errors.ts";
import { createTrust } from "../../internal/identity/trust/anchor.ts";
import { exchange } from "../../internal/identity/trust/exchange.ts";
import type { Rung } from "../../internal/identity/trust/ladder.ts";
import { TrustError } from "../../internal/identity/trust/mismatch.ts";
import { recordingLog } from "./log.ts";

// A separate program, because the environment of a process affects its TLS trust: requests /secret from a
// master on one rung and prints the result. Arguments: the URL, and the rung as JSON.

const [url = "", rung = ""] = process.argv.slice(2);
const signal = new AbortController().signal;
const kept: string[] = [];
const trust = createTrust({
  rung: JSON.parse(rung) as Rung,
  storeAnchor: (pem) => kept.push(pem),
  clock: systemClock,
  log: recordingLog(),
  signal,
});
const result = await trust
  .use(url, async ({ ca, spki }) => {
    const limits = { timeoutMs: 5_000, maxBytes: 1000, clock: systemClock, signal };
    const { text } = await exchange({ url: `${url}/secret`, verify: { ca }, ...limits });
    return { text, spki };
  })
  .catch((thrown: unknown) => ({ refused: thrown instanceof TrustError, error: describeError(thrown) }));
process.stdout.write(JSON.stringify({ ...result, kept: kept.length }));
