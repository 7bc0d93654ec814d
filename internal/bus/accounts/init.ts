import { join, resolve } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { publicMode, secretMode } from "../../base/files/file.ts";
import { createFiles, type NewFile } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import type { Address } from "../../base/names/address.ts";
import { type KeyPair, newCurvePair, newKeyPair } from "../../identity/mod.ts";
import { encodeMastersAccount, encodeOperator, encodeSystemAccount } from "./operator.ts";
import { operatorsSeedFile } from "./operators-key.ts";
import { encodePeelsAccount } from "./peels-account.ts";
import { formatServerConfig } from "./server-config.ts";
import { newCredentials } from "./users.ts";

export interface InitOptions {
  dir: string;
  /** Name of the operator in its JWT. */
  operator: string;
  listen: Address;
  /** Where the bus stores its data; `<dir>/store` when absent. */
  storeDir?: string;
  /** Certificate of the bus server and its key; `<dir>/nats-server.crt` and `.key` when absent. */
  tls?: { cert: string; key: string };
  /** Path of the server's configuration file; `<dir>/nats-server.conf` when absent. */
  serverConfig?: string;
  /** Whether the server writes to the disk before it acknowledges; 2.10 and newer. */
  syncAlways?: boolean;
  /** Host name of the machine: the name of the server, which is unique in a cluster. */
  hostname: string;
  /** Public key of a recovery key that exists; absent makes a new one. */
  recovery?: string;
  clock: Clock;
  random: Random;
}

/** Who needs a file. `offline` files belong in a safe place, not on any server. */
export type Audience = "bus" | "masters" | "operators" | "offline";

/** A file that `initNatsAuth` wrote. */
export interface AuthFile {
  path: string;
  /** Permission bits. */
  mode: number;
  audience: Audience;
}

/**
 * Creates the keys and accounts of a bus and writes their files.
 *
 * @throws SvcError `conflict` when any file exists, `bad_request` for a path with control characters
 */
export function initNatsAuth(options: InitOptions): AuthFile[] {
  const files = newNatsAuth(options);
  createFiles(files);
  return files.map(({ path, mode, audience }) => ({ path, mode, audience }));
}

/**
 * Creates the keys and accounts of a bus: an operator, the accounts of peels, masters and the system, the
 * credentials of masters and operators and for decisions without a master, the key that signs commands, the key of
 * settings, the recovery key, and the server's configuration.
 *
 * @throws SvcError `bad_request` for a path with control characters
 */
export function newNatsAuth(options: InitOptions): (AuthFile & NewFile)[] {
  const { clock, random, listen, operator: name, hostname } = options;
  const dir = resolve(options.dir);
  const paths = {
    storeDir: resolve(options.storeDir ?? join(dir, "store")),
    tlsCert: resolve(options.tls?.cert ?? join(dir, "nats-server.crt")),
    tlsKey: resolve(options.tls?.key ?? join(dir, "nats-server.key")),
    operatorJwtPath: join(dir, "operator.jwt"),
  };
  for (const path of Object.values(paths)) assertQuotable(path);

  const issuedAt = Math.floor(clock.now() / 1000);
  const key = (role: "operator" | "account" | "user"): KeyPair => newKeyPair(role, random);
  const [operator, signer] = [key("operator"), key("operator")];
  const [peels, masters, system] = [key("account"), key("account"), key("account")];
  const operators = key("account");
  const jwts = {
    operator: encodeOperator(
      { operator, signingKey: signer.publicKey, systemAccount: system.publicKey, name },
      issuedAt,
    ),
    peels: encodePeelsAccount({
      account: peels.publicKey,
      masters: masters.publicKey,
      revocations: {},
      issuedAt,
      signer,
    }),
    masters: encodeMastersAccount(masters.publicKey, issuedAt, signer, operators.publicKey),
    system: encodeSystemAccount(system.publicKey, issuedAt, signer),
  };
  const serverConfig = formatServerConfig({
    ...paths,
    serverName: hostname,
    syncAlways: options.syncAlways ?? false,
    listen,
    systemAccount: system.publicKey,
    accounts: {
      [peels.publicKey]: jwts.peels,
      [masters.publicKey]: jwts.masters,
      [system.publicKey]: jwts.system,
    },
  });

  const file = (name: string, audience: Audience, mode: number, data: string) => ({
    path: join(dir, name),
    audience,
    mode,
    data,
  });
  const recovery = options.recovery === undefined ? key("user") : undefined;
  const jwt = (name: string, audience: Audience, text: string) =>
    file(name, audience, publicMode, `${text}\n`);
  const secret = (name: string, audience: Audience, text: string) =>
    file(name, audience, secretMode, `${text.trimEnd()}\n`);
  return [
    secret("operator.seed", "offline", operator.seed),
    jwt("operator.jwt", "bus", jwts.operator),
    secret("operator-signing.seed", "masters", signer.seed),
    jwt("account.jwt", "masters", jwts.peels),
    secret("account.seed", "masters", peels.seed),
    jwt("masters.jwt", "bus", jwts.masters),
    secret("masters.seed", "offline", masters.seed),
    secret(operatorsSeedFile, "masters", operators.seed),
    secret("command.seed", "masters", key("user").seed),
    secret("settings.seed", "masters", newCurvePair(random).seed),
    jwt("system.jwt", "bus", jwts.system),
    secret("system.creds", "masters", newCredentials("system", system, issuedAt, random)),
    secret("master.creds", "masters", newCredentials("master", masters, issuedAt, random)),
    secret("admin.creds", "operators", newCredentials("admin", masters, issuedAt, random)),
    secret("direct.creds", "offline", newCredentials("direct", masters, issuedAt, random)),
    ...(recovery === undefined ? [] : [secret("recovery.seed", "offline", recovery.seed)]),
    jwt("recovery.pub", "masters", recovery?.publicKey ?? options.recovery ?? ""),
    {
      ...secret("nats-server.conf", "bus", serverConfig),
      ...(options.serverConfig === undefined ? {} : { path: resolve(options.serverConfig) }),
    },
  ];
}

function assertQuotable(path: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u001f\u007f]/.test(path)) {
    throw new SvcError("bad_request", `the path ${JSON.stringify(path)} contains a control character`);
  }
}
