import { existsSync } from "node:fs";
import * as v from "valibot";
import { describeError } from "../../base/errors.ts";
import { publicMode, readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import { isSigned, parseSuccession, type SignedSuccession } from "../../identity/succession/mod.ts";
import { DamagedFile, type IdentityFiles } from "../identity/mod.ts";

// The trust of a peel is in several files: the anchor, the CA of the bus, the command keys, the recovery keys. To
// replace them in one step, the statement is written first, as not yet applied. That rename is the step: from it on
// the new trust counts, and every start completes what is missing before it reads any of those files. Later changes
// of single files, such as new command keys, are not undone, because the statement is then marked as applied.

/** The files that a statement replaces. */
type TrustFiles = Pick<IdentityFiles, "succession" | "anchor" | "commandKeys" | "recoveryKeys" | "busCa">;

/** The last statement that a peel accepted. */
export interface Accepted {
  /** `undefined` when it never accepted one. */
  readonly statement: SignedSuccession | undefined;
  /**
   * Replaces everything that this peel trusts. After a failure it must be repeated, in this process or by the next
   * start.
   *
   * @throws SvcError `storage` naming the file that cannot be written
   */
  accept(statement: SignedSuccession): void;
}

const stored = v.object({ applied: v.boolean(), statement: v.unknown() });

/**
 * Reads the accepted statement, and completes what a crash interrupted. Must run before anything else reads the
 * trust of this peel.
 *
 * @throws DamagedFile, because without the statement the peel would trust the fleet before; SvcError `storage`
 */
export function openAccepted(files: TrustFiles): Accepted {
  let current = read(files);
  return {
    get statement() {
      return current;
    },
    accept(statement) {
      write(files, statement, false);
      apply(files, statement);
      write(files, statement, true);
      current = statement;
    },
  };
}

/**
 * The accepted statement, for a look at the peel that writes nothing.
 *
 * @throws DamagedFile
 */
export function readAccepted(files: Pick<TrustFiles, "succession">): SignedSuccession | undefined {
  const text = readTextIfPresent(files.succession);
  return text === undefined ? undefined : parse(files.succession, text).statement;
}

function read(files: TrustFiles): SignedSuccession | undefined {
  const text = readTextIfPresent(files.succession);
  if (text === undefined) return undefined;
  const { statement, applied } = parse(files.succession, text);
  if (!applied) {
    apply(files, statement);
    write(files, statement, true);
  } else if (!existsSync(files.anchor)) {
    // Without an anchor the first contact would decide.
    writing(files.anchor, () => writeFileAtomic(files.anchor, statement.ca_bundle_pem, publicMode));
  }
  return statement;
}

function parse(path: string, text: string): { statement: SignedSuccession; applied: boolean } {
  try {
    const { applied, statement: found } = v.parse(stored, JSON.parse(text));
    const statement = parseSuccession(found);
    if (!isSigned(statement)) throw new Error("its signature is not valid");
    return { statement, applied };
  } catch (thrown) {
    throw new DamagedFile(
      path,
      describeError(thrown),
      "restore it from a backup; if it is deleted, the peel goes by its configuration file and enroll-ca.crt",
    );
  }
}

function write({ succession: path }: TrustFiles, statement: SignedSuccession, applied: boolean): void {
  const text = `${JSON.stringify({ applied, statement }, undefined, 2)}\n`;
  writing(path, () => writeFileAtomic(path, text, secretMode));
}

function apply(files: TrustFiles, statement: SignedSuccession): void {
  const lines = (keys: readonly string[]) => `${keys.join("\n")}\n`;
  const contents: [path: string, data: string, mode: number][] = [
    [files.anchor, statement.ca_bundle_pem, publicMode],
    [files.busCa, statement.ca_bundle_pem, publicMode],
    [files.commandKeys, lines(statement.command_keys), publicMode],
    [files.recoveryKeys, lines(statement.recovery_keys), secretMode],
  ];
  for (const [path, data, mode] of contents) writing(path, () => writeFileAtomic(path, data, mode));
}
