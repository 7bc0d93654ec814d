import { isIP } from "node:net";

/** A range of IP addresses. */
export interface Network {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
  /** Length of the prefix, bits. */
  readonly prefix: number;
}

/** Reads `192.0.2.0/24`, `fd00::/8`, or one address; anything else is `undefined`. */
export function parseNetwork(text: string): Network | undefined {
  const [, address = "", length] = /^([0-9A-Fa-f.:]+)(?:\/([0-9]{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const bits = version === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : Number(length);
  return prefix > bits ? undefined : { address, family: version === 4 ? "ipv4" : "ipv6", prefix };
}
