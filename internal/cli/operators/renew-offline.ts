import { join } from "node:path";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { readTextFile, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import { operatorsSeedFile, readOperatorsKey } from "../../bus/accounts/mod.ts";
import { mintOperator } from "../../fleet/operators/mod.ts";
import { builtInScopes } from "../../fleet/roles/mod.ts";
import { formatOperatorFile, readClaims } from "../../identity/mod.ts";
import { type Cli, formatFields } from "../../program/command-line/mod.ts";
import { parseAdministrators } from "../../wire/administrators.ts";
import { adminRole } from "../../wire/operator-standing.ts";
import { ownOperatorFile } from "../operator.ts";

/**
 * Renews the JWT of the operator file in use, for an administrator of the file who was away for longer than it lasts:
 * nobody else may be there who could do it over the bus.
 *
 * @throws SvcError `bad_request` naming the file, `not_found`, `storage`
 */
export async function renewOffline(authDir: string, name: string, cli: Cli): Promise<void> {
  const path = join(authDir, "administrators");
  const listed = parseAdministrators(path, readTextFile(path, "the file of administrators"));
  const found = listed.find((one) => one.name === name);
  if (found === undefined) throw new SvcError("not_found", `${path} does not list ${name}`);
  const signer = readOperatorsKey(authDir);
  if (signer === undefined) {
    const seed = join(authDir, operatorsSeedFile);
    throw new SvcError(
      "bad_request",
      `${seed}: no such file: copy it from the directory that svc nats-auth init or svc init wrote`,
    );
  }
  const { path: file, ...own } = ownOperatorFile(cli);
  if (own.publicKey !== found.publicKey) {
    throw new SvcError(
      "bad_request",
      `${file} is the operator file of ${own.name}, not of ${name}: name that of ${name} with --config or --context`,
    );
  }
  const masters = readClaims(readTextFile(join(authDir, "masters.jwt"), "the JWT of the masters' account"));
  // Only here: it loads the operations of every room.
  const { subjectsOfScopes: subjects } = await import("../../doors/rooms/mod.ts");
  const { jwt, expiresAt } = mintOperator(
    { signer: () => ({ ...signer, issuerAccount: masters.sub }), scopesOf: builtInScopes, subjects },
    { ...found, roles: [adminRole] },
    cli.clock.now(),
  );
  writing(file, () => writeFileAtomic(file, formatOperatorFile({ ...own, jwt }), secretMode));
  const ends = rfc3339(expiresAt);
  await cli.print({ name, file, jwt_expires_at: ends }, () =>
    formatFields([
      ["Name", name],
      ["File", file],
      ["Ends", ends],
    ]),
  );
}
