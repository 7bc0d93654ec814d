import { statSync } from "node:fs";
import { describeError } from "../../base/errors.ts";
import { fileVersion } from "../../base/files/file-version.ts";
import type { Log } from "../../base/log.ts";
import { readConfigFile } from "../../program/config/mod.ts";
import { builtIn } from "./built-in.ts";
import type { Persons } from "./persons.ts";
import { type RolesFile, readRoles } from "./read-roles.ts";
import type { RoleBook } from "./role.ts";

/** The roles of a master. */
export interface Roles {
  readonly path: string;
  /** The roles in force: the last good ones of the file, and those that are built in. */
  current(): RoleBook;
  /** Who is one person, as the last good file says. */
  persons(): Persons;
  /** What is wrong with the file as it is now, in one line. */
  problem(): string | undefined;
}

/**
 * Looks at a roles file without following it.
 *
 * @returns the number of its roles, and whether group or others can change it, and so what they may do
 * @throws SvcError as `readRoles`
 */
export function inspectRoles(path: string): { roles: number; isOpen: boolean } {
  const size = loadRoles(path)?.book.size ?? builtIn.size;
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  return { roles: size - builtIn.size, isOpen: (mode & 0o022) !== 0 };
}

/** Without a file there are the built-in roles. */
function loadRoles(path: string): RolesFile | undefined {
  const text = readConfigFile(path);
  return text === undefined ? undefined : readRoles(text, path);
}

/**
 * Follows a roles file: looks at it whenever it is asked, and reads it again when its time, size or inode changed.
 * While it is broken, or missing after it was there, the last good roles stay in force.
 */
export function followRoles(path: string, log: Log): Roles {
  let seen: string | undefined;
  let read: RolesFile | undefined;
  const book = () => read?.book ?? builtIn;
  let problem: string | undefined;
  const refresh = () => {
    const version = fileVersion(path);
    if (version === seen) return;
    const isFirst = seen === undefined;
    seen = version;
    try {
      if (version === "" && read !== undefined) throw new Error(`${path} does not exist any more`);
      read = loadRoles(path);
      problem = undefined;
      if (!isFirst || version !== "")
        log.info("roles read", { file: path, roles: book().size - builtIn.size });
    } catch (thrown) {
      const { size } = book();
      const kept = size === builtIn.size ? "only the built-in roles are" : "the last good roles stay";
      problem = `${kept} in force: ${describeError(thrown)}`;
      log.error("the roles file cannot be used", {
        file: path,
        reason: describeError(thrown),
        kept: size,
      });
    }
  };
  refresh();
  return {
    path,
    current() {
      refresh();
      return book();
    },
    persons() {
      refresh();
      return read?.persons ?? new Map();
    },
    problem() {
      refresh();
      return problem;
    },
  };
}
