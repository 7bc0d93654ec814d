import { SvcError } from "../../base/errors.ts";
import { formatAddress } from "../../base/names/address.ts";
import { findBlock } from "./config-block.ts";
import { listenAddressOf } from "./port.ts";

/** Absolute paths of the certificate that the other side sees, of its key, and of the roots that verify that side. */
export interface LinkTls {
  cert: string;
  key: string;
  ca: string;
}

/** Whether a server listens for the servers of sites. */
export function listensForSites(text: string): boolean {
  return findBlock(text, "leafnodes") !== undefined;
}

/** The port on which a server listens for the servers of sites; `undefined` without one, or in another form. */
export function sitePortOf(text: string): number | undefined {
  const [, port] =
    /listen[ \t]*[:=]?[ \t]*"[^"]*:(\d+)"/.exec(findBlock(text, "leafnodes")?.body ?? "") ?? [];
  return port === undefined ? undefined : Number(port);
}

/**
 * Lets a server of the bus listen for the servers of sites (NATS server 2.9 and newer). Each side verifies the other
 * one, and a server of a site also has a JWT.
 *
 * @param text `nats-server.conf`
 * @throws SvcError `bad_request` for braces that do not match
 */
export function listenForSites(text: string, { port, tls }: { port: number; tls: LinkTls }): string {
  if (listensForSites(text)) return text;
  const host = listenAddressOf(text)?.host || "0.0.0.0";
  return `${text.trimEnd()}

# Servers of sites connect here; see svc cluster add-site.
leafnodes {
  listen: ${quote(formatAddress({ host, port }))}
${tlsBlock(tls, "  ", true)}}
`;
}

/** What makes a server the one of a site. */
export interface SiteLinks {
  /** Where servers of the bus listen for it. */
  hosts: readonly string[];
  port: number;
  tls: LinkTls;
  /** Public keys of accounts. */
  masters: string;
  system: string;
  /** Absolute paths of credentials. */
  credentials: { link: string; system: string };
}

/**
 * Links a server to the bus, as the server of a site: it stores nothing, and what masters export comes from them.
 *
 * @param text the configuration of a server of its own, as `formatServerConfig` writes it
 * @throws SvcError `bad_request` for a configuration without a block for storage
 */
export function linkToBus(text: string, links: SiteLinks): string {
  const { hosts, port, tls, masters, system, credentials } = links;
  const storage = /^jetstream \{[^}]*\}\n\n?/m;
  if (!storage.test(text)) throw new SvcError("bad_request", "nats-server.conf has no block jetstream");
  const urls = hosts.map((host) => `        ${quote(`tls://${formatAddress({ host, port })}`)}`).join("\n");
  const remote = (account: string, path: string) => `    {
      urls: [
${urls}
      ]
      account: ${account}
      credentials: ${quote(path)}
${tlsBlock(tls, "      ", false)}    }
`;
  return `${text.replace(storage, "").trimEnd()}

# The links to the bus of the masters: one for peels, and one that learns which of them are revoked.
leafnodes {
  reconnect: "2s"
  remotes: [
${remote(masters, credentials.link)}${remote(system, credentials.system)}  ]
}
`;
}

const tlsBlock = ({ cert, key, ca }: LinkTls, indent: string, verify: boolean): string =>
  [
    "tls {",
    `  cert_file: ${quote(cert)}`,
    `  key_file: ${quote(key)}`,
    `  ca_file: ${quote(ca)}`,
    ...(verify ? ["  verify: true"] : []),
    '  cipher_suites: [ "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256" ]',
    "  timeout: 10",
    "}",
  ]
    .map((line) => `${indent}${line}\n`)
    .join("");

const quote = (text: string): string => JSON.stringify(text);
