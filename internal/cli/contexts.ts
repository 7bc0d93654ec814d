import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { SvcError } from "../base/errors.ts";
import { isErrno, readTextIfPresent, secretMode, writeFileAtomic } from "../base/files/file.ts";
import { makePrivateDirectory, writing } from "../base/files/new-files.ts";
import { operatorNameForm } from "../base/names/names.ts";
import { suggestion } from "../base/nearest.ts";

// What svc login installs: an operator file for each fleet, and the name of the one in use. A key that was made on
// this host waits for its operator file.

const suffix = ".operator";

const ownDirectory = (): string => join(homedir(), ".svc");
const fileOfCurrent = (): string => join(ownDirectory(), "context");

/** The path of the operator file of a context. @throws SvcError `usage` for a text that cannot be a name */
export function contextFile(name: string): string {
  if (operatorNameForm.test(name)) return join(ownDirectory(), "contexts", `${name}${suffix}`);
  throw new SvcError(
    "usage",
    `${JSON.stringify(name.slice(0, 64))} cannot be the name of a context: lower-case letters, digits, dots, - and _`,
  );
}

/** The path of the seed of a key that was made here. */
export function seedFile(publicKey: string): string {
  return join(ownDirectory(), "keys", `${publicKey}.seed`);
}

/** The names of the installed operator files, sorted. */
export function listContexts(): string[] {
  try {
    return readdirSync(join(ownDirectory(), "contexts"))
      .filter((name) => name.endsWith(suffix) && !name.startsWith("."))
      .map((name) => name.slice(0, -suffix.length))
      .sort();
  } catch (cause) {
    // A home that this user cannot read holds no login of this user.
    if (["ENOENT", "ENOTDIR", "EACCES"].some((code) => isErrno(cause, code))) return [];
    throw cause;
  }
}

/** The context in use: the one that was chosen, or the only one. */
export function currentContext(): string | undefined {
  const all = listContexts();
  if (all.length === 0) return undefined;
  const chosen = readTextIfPresent(fileOfCurrent())?.trim();
  if (chosen !== undefined && all.includes(chosen)) return chosen;
  return all.length === 1 ? all[0] : undefined;
}

/**
 * The operator file that counts.
 *
 * @param requested `--context`
 * @returns `undefined` when none is installed
 * @throws SvcError `usage` when the one that is asked for is not installed
 */
export function loginFile(requested: string | undefined): string | undefined {
  if (requested === undefined) {
    const current = currentContext();
    return current === undefined ? undefined : contextFile(current);
  }
  const all = listContexts();
  if (all.includes(requested)) return contextFile(requested);
  const known = all.length === 0 ? "none is installed: see svc login --help" : `known are ${all.join(", ")}`;
  throw new SvcError(
    "usage",
    `--context: the context ${requested} does not exist${suggestion(requested, all)}; ${known}`,
  );
}

/** Makes a context the one in use. @throws SvcError `storage` */
export function chooseContext(name: string): void {
  writePrivate(fileOfCurrent(), `${name}\n`);
}

/** Writes a file below ~/.svc that only its owner can read. @throws SvcError `storage` */
export function writePrivate(path: string, text: string): void {
  writing(path, () => {
    makePrivateDirectory(join(path, ".."));
    writeFileAtomic(path, text, secretMode);
  });
}
