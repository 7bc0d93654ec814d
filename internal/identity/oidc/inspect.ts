import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { discoverKeys, getOverTls } from "./discover.ts";
import type { Provider } from "./provider.ts";

/** What a look at a provider found: how many keys it has, or why they cannot be fetched. */
export interface Inspected {
  issuer: string;
  keys: number;
  problem?: string;
}

/** Fetches the keys of a provider once, as a master does. */
export async function inspectProvider(
  { issuer, ca_file: caFile }: Pick<Provider, "issuer" | "ca_file">,
  deps: { clock: Clock; signal: AbortSignal },
): Promise<Inspected> {
  try {
    return { issuer, keys: (await discoverKeys(issuer, getOverTls({ caFile, ...deps }))).length };
  } catch (thrown) {
    return { issuer, keys: 0, problem: `${issuer}: ${describeError(thrown)}` };
  }
}
