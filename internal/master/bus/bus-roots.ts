import type { AuthorityInForce } from "../../identity/ca/mod.ts";
import { rootsOf, spkiPin } from "../../identity/trust/mod.ts";

/**
 * What a master verifies the bus with: the file that is configured, as it is at each attempt, and while its own
 * authority rotates a root of that file, the other root as well. So a master never waits for an operator to copy a
 * root.
 *
 * @param read PEM of the configured roots; `undefined` means the trust store of the host
 * @returns `undefined` where that trust store verifies
 * @throws SvcError when the file cannot be read now; later the last text counts
 */
export function trustedByMaster(
  read: () => string | undefined,
  inForce: () => AuthorityInForce | undefined,
): (() => string | undefined) | undefined {
  let configured = read();
  if (configured === undefined) return undefined;
  /** The roots of a rotation that began with a root of the file. */
  let followed = new Map<string, string>();
  return () => {
    try {
      configured = read() ?? configured;
    } catch {
      // The file is being replaced. The last text is as good.
    }
    const text = configured ?? "";
    const authority = inForce();
    if (authority === undefined) return text;
    const own = [authority.root, ...(authority.rotation === undefined ? [] : [authority.rotation.next])];
    const pins = new Set([...rootsOf(text).map(spkiPin), ...followed.keys()]);
    if (own.some(({ pin }) => pins.has(pin))) followed = new Map(own.map(({ pin, pem }) => [pin, pem]));
    return [text, ...followed.values()].join("\n");
  };
}
