import { statSync } from "node:fs";
import { join } from "node:path";
import { rfc3339 } from "../../base/clock.ts";
import { readTextIfPresent } from "../../base/files/file.ts";
import { inspectAuthority } from "../../identity/ca/mod.ts";
import { curvePairFromSeed, keyPairFromSeed, parseCredentials, readClaims } from "../../identity/mod.ts";

/** One key of a fleet. */
export interface KeyRow {
  key: string;
  /** `unknown` where only an offline file would tell. */
  public_key: string;
  holder: string;
  /** RFC 3339: when it was made, as far as its file tells. */
  since?: string;
  depends: string;
}

type Role = "operator" | "account" | "user" | "curve";

const holders = {
  offline: "offline",
  masters: "masters",
  operators: "operators",
  peels: "each peel",
} as const;

/** Keys that are files of one seed: file, role, where the public key also stands, holder and what depends on it. */
const seeds: readonly (readonly [string, Role, string | undefined, keyof typeof holders, string])[] = [
  ["operator.seed", "operator", "operator.jwt", "offline", "the trust of bus servers in all accounts"],
  ["operator-signing.seed", "operator", undefined, "masters", "claims of the accounts, revocations"],
  ["account.seed", "account", "account.jwt", "masters", "vouchers of records, credentials of peels"],
  ["account-signing.seed", "account", undefined, "masters", "credentials of peels"],
  ["account-signing-next.seed", "account", undefined, "masters", "credentials of peels, when it is in use"],
  ["masters.seed", "account", "masters.jwt", "offline", "credentials of masters and operators"],
  ["masters-operators.seed", "account", undefined, "masters", "connections of operators to the bus"],
  ["command.seed", "user", undefined, "masters", "commands, settings, state files, records of jobs"],
  ["command-next.seed", "user", undefined, "masters", "the same, when every alive peel has confirmed it"],
  ["settings.seed", "curve", undefined, "masters", "what masters encrypt and compare among themselves"],
  ["settings-next.seed", "curve", undefined, "masters", "the same, when it is in use"],
];

/** Keys that are credentials. */
const credentials: readonly (readonly [string, keyof typeof holders, string])[] = [
  ["master.creds", "masters", "the connection of masters to the bus"],
  ["system.creds", "masters", "revocations on the bus"],
  ["admin.creds", "operators", "the connection of operators to the bus"],
  ["direct.creds", "offline", "decisions without a master"],
];

/**
 * The keys of a fleet, as a master's auth directory shows them. Files that belong elsewhere may be absent here.
 *
 * @throws SvcError `bad_request` naming the file that is malformed
 */
export function listKeys(dir: string): KeyRow[] {
  return [
    ...seeds.flatMap((row) => seedRow(dir, row)),
    ...credentials.flatMap((row) => credentialsRow(dir, row)),
    ...recoveryRow(dir),
    ...authorityRows(join(dir, "ca")),
  ];
}

function seedRow(dir: string, [file, role, jwt, holder, depends]: (typeof seeds)[number]): KeyRow[] {
  const path = join(dir, file);
  const seed = readTextIfPresent(path);
  const claims = jwt === undefined ? undefined : readTextIfPresent(join(dir, jwt));
  if (seed === undefined && claims === undefined) return [];
  const since = seed === undefined ? undefined : madeAt(path);
  const publicKey = seed === undefined ? readClaims(claims ?? "").sub : pairOf(role, seed).publicKey;
  return [
    {
      key: file,
      public_key: publicKey,
      holder: holders[holder],
      ...(since === undefined ? {} : { since }),
      depends,
    },
  ];
}

const pairOf = (role: Role, seed: string) =>
  role === "curve" ? curvePairFromSeed(seed) : keyPairFromSeed(role, seed);

function credentialsRow(dir: string, [file, holder, depends]: (typeof credentials)[number]): KeyRow[] {
  const text = readTextIfPresent(join(dir, file));
  if (text === undefined) return [];
  const { sub, iat } = readClaims(parseCredentials(text).jwt);
  return [{ key: file, public_key: sub, holder: holders[holder], since: rfc3339(iat * 1000), depends }];
}

/** The offline key that ends a theft; masters have its public half. */
function recoveryRow(dir: string): KeyRow[] {
  const path = join(dir, "recovery.pub");
  const text = readTextIfPresent(path);
  if (text === undefined) return [];
  const since = madeAt(path);
  return [
    {
      key: "recovery.seed",
      public_key: text.trim(),
      holder: holders.offline,
      ...(since === undefined ? {} : { since }),
      depends: "statements of succession",
    },
  ];
}

function authorityRows(dir: string): KeyRow[] {
  if (readTextIfPresent(join(dir, "root.crt")) === undefined) return [];
  const { root, intermediate, hasRootKey } = inspectAuthority(dir);
  return [
    {
      key: "ca/root.key",
      public_key: root.pin,
      holder: hasRootKey ? "this directory" : holders.offline,
      since: rfc3339(root.notBefore),
      depends: "the intermediate, the pin of new peels",
    },
    {
      key: "ca/intermediate.key",
      public_key: intermediate.pin,
      holder: holders.masters,
      since: rfc3339(intermediate.notBefore),
      depends: "certificates of masters and of the bus",
    },
  ];
}

function madeAt(path: string): string | undefined {
  const { mtimeMs } = statSync(path);
  return rfc3339(mtimeMs);
}
