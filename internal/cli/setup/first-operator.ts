import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { publicMode, secretMode } from "../../base/files/file.ts";
import type { NewFile } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import { subjectsOfScopes } from "../../doors/rooms/mod.ts";
import { mintOperator } from "../../fleet/operators/mod.ts";
import { builtInScopes } from "../../fleet/roles/mod.ts";
import { formatOperatorFile, type KeyPair, newKeyPair } from "../../identity/mod.ts";
import { formatAdministrators } from "../../wire/administrators.ts";
import { isOperatorName } from "../../wire/operator-record.ts";
import { adminRole } from "../../wire/operator-standing.ts";

/** A name for an operator, as near to the name of an account as one can be. */
export function operatorNameOf(account: string): string {
  const name = account
    .toLowerCase()
    .replace(/[^a-z0-9_.-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "")
    .replace(/\.+(?=\.|-|_|$)/g, "")
    .slice(0, 63);
  return isOperatorName(name) ? name : "operator";
}

/**
 * The first operator of a fleet: its file, and the line by which masters know it. It is in no registry, so that no
 * bus is needed, and no one who controls one can change it.
 *
 * @param options.fleet public key of the masters' account
 * @param options.signer the operators' signing key of that account
 */
export function firstOperator(options: {
  name: string;
  fleet: string;
  signer: KeyPair;
  busUrls: readonly string[];
  caPem: string;
  /** Directory for the operator file. */
  dir: string;
  /** The auth directory of masters. */
  authDir: string;
  clock: Pick<Clock, "now">;
  random: Random;
}): { file: NewFile; administrators: NewFile; publicKey: string } {
  const { name, fleet, signer, busUrls, caPem, clock, random } = options;
  const key = newKeyPair("user", random);
  const { publicKey } = key;
  const { jwt } = mintOperator(
    {
      signer: () => ({ ...signer, issuerAccount: fleet }),
      scopesOf: builtInScopes,
      subjects: subjectsOfScopes,
    },
    { name, publicKey, roles: [adminRole] },
    clock.now(),
  );
  return {
    publicKey,
    file: {
      path: join(options.dir, `${name}.operator`),
      data: formatOperatorFile({ fleet, busUrls, caPem, name, publicKey, jwt, key }),
      mode: secretMode,
    },
    administrators: {
      path: join(options.authDir, "administrators"),
      data: formatAdministrators([{ name, publicKey }]),
      mode: publicMode,
    },
  };
}
