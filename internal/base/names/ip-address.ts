import { isIP } from "node:net";

/** The one spelling of an address: an IPv6 address may be written in many ways. Another text stays. */
export function canonicalAddress(text: string): string {
  const [, address = "", zone = ""] = /^([^%]*)(%.*)?$/.exec(text) ?? [];
  if (isIP(address) !== 6) return text;
  return `${new URL(`http://[${address}]/`).hostname.slice(1, -1)}${zone}`;
}
