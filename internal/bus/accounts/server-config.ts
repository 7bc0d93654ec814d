import { join } from "node:path";
import { type Address, formatAddress } from "../../base/names/address.ts";

/** The minimum control line that a bus server must allow (specification, "Limits"). JWTs exceed the default. */
export const maxControlLine = 16_384;

export interface ServerConfig {
  /** Unique in a cluster. */
  serverName: string;
  listen: Address;
  /** Absolute path. Holds JetStream data and the accounts. */
  storeDir: string;
  /** Absolute path of the operator's JWT. */
  operatorJwtPath: string;
  /** Absolute paths of the certificate chain, leaf first, and of its key. */
  tlsCert: string;
  tlsKey: string;
  systemAccount: string;
  /** Whether an acknowledged write is on the disk. Servers before 2.10 refuse the setting. */
  syncAlways?: boolean;
  /** The initial accounts: public key to JWT. */
  accounts: Readonly<Record<string, string>>;
}

/** Writes the configuration of a bus server (NATS server 2.9 and newer). */
export function formatServerConfig(config: ServerConfig): string {
  const { serverName, listen, storeDir, tlsCert, tlsKey, systemAccount } = config;
  const accounts = Object.entries(config.accounts).map(([key, jwt]) => `  ${key}: ${quote(jwt)}`);
  return `# Written by svc nats-auth init. In a cluster every server needs its own server_name and store.
server_name: ${quote(serverName)}
listen: ${quote(formatAddress(listen))}

# The JWT of a client is part of its first line and exceeds the default of 4096 bytes.
max_control_line: ${maxControlLine}
# The list of revoked users is one message.
max_payload: 8MB

# TLS 1.3 only: older versions do not have these suites, and servers before 2.10 do not have min_version.
tls {
  cert_file: ${quote(tlsCert)}
  key_file: ${quote(tlsKey)}
  cipher_suites: [
    "TLS_AES_128_GCM_SHA256"
    "TLS_AES_256_GCM_SHA384"
    "TLS_CHACHA20_POLY1305_SHA256"
  ]
  # Seconds for a handshake: after an outage the whole fleet connects at once.
  timeout: 10
}

jetstream {
  store_dir: ${quote(storeDir)}
${config.syncAlways === true ? syncLines : ""}}

operator: ${quote(config.operatorJwtPath)}
system_account: ${systemAccount}

# A server asks the others for newer accounts at this interval.
resolver {
  type: full
  dir: ${quote(join(storeDir, "accounts"))}
  allow_delete: false
  interval: "5s"
}

# The initial accounts. Masters push newer ones, which are stored in the directory above.
resolver_preload {
${accounts.join("\n")}
}
`;
}

const syncLines = `  # What was acknowledged is on the disk, also after a power failure. Servers before 2.10 refuse this.
  sync_interval: always
`;

function quote(text: string): string {
  return JSON.stringify(text);
}
