import { isIPv6 } from "node:net";

/** A listen address. */
export interface Address {
  /** An IP address or name without brackets; empty for every address of the host. */
  readonly host: string;
  /** 0 to 65535; 0 lets the system choose. */
  readonly port: number;
}

const form = /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]*)):([0-9]{1,5})$/;

/** Reads `127.0.0.1:8443`, `[::1]:8443`, `name:8443` or `:8443`; anything else is `undefined`. */
export function parseAddress(text: string): Address | undefined {
  const [, bracketed, plain = "", port = ""] = form.exec(text) ?? [];
  if (port === "" || Number(port) > 65_535) return undefined;
  if (bracketed !== undefined && !isIPv6(bracketed)) return undefined;
  return { host: bracketed ?? plain, port: Number(port) };
}

/** The same notation again. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
