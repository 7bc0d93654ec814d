import { assertBusUrl } from "../base/names/bus-url.ts";
import type { OperatorFile } from "../identity/mod.ts";
import { leadTo, rootsOf, spkiPin } from "../identity/trust/mod.ts";

/** How an operator reaches the bus. */
type Address = Pick<OperatorFile, "busUrls" | "caPem">;

const maxUrls = 64;

/**
 * Decides what an operator file takes over of what a master says about the way to the bus. The answer came over the
 * bus, and an attacker who controls one of its servers can change it. So a root is trusted only when the file has it, or when a root
 * in the file signed its key. Addresses count only where such a root verifies who answers there.
 *
 * @param reported `ca_cross_pem` are certificates that lead from one root to the next
 * @param now milliseconds since the Unix epoch
 * @returns `undefined` when nothing changes
 */
export function followAddress(
  own: Address,
  reported: { bus_urls: readonly string[]; ca_pem: string; ca_cross_pem?: string },
  now: number,
): Address | undefined {
  const trusted = rootsOf(own.caPem);
  if (trusted.length === 0) return undefined;
  const pins = trusted.map(spkiPin);
  const crossPem = reported.ca_cross_pem ?? "";
  const roots = rootsOf(reported.ca_pem).filter(
    (pem) => pins.includes(spkiPin(pem)) || leadTo(pem, { trusted, crossPem, now }).kind === "found",
  );
  // Masters of another CA, or of one to which nothing leads: their addresses do not count either.
  if (roots.length === 0) return undefined;
  const isSame = roots.length === trusted.length && roots.every((pem) => pins.includes(spkiPin(pem)));
  const address = {
    caPem: isSame ? own.caPem : roots.map((pem) => `${pem.trim()}\n`).join(""),
    busUrls: areUrls(reported.bus_urls) ? reported.bus_urls : own.busUrls,
  };
  const isUnchanged = isSame && address.busUrls.join() === own.busUrls.join();
  return isUnchanged ? undefined : address;
}

/** Whether each of them is verified with the roots. */
function areUrls(urls: readonly string[]): boolean {
  if (urls.length === 0 || urls.length > maxUrls) return false;
  return urls.every((url) => {
    try {
      assertBusUrl("bus_urls", url);
      return url.startsWith("tls://");
    } catch {
      return false;
    }
  });
}
