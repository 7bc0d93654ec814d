import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import type { Finding } from "./step.ts";

const secretName = /\.(?:seed|creds|key|token)$/;

/** Finds secrets in a directory that group or others can access. @throws SvcError `bad_request` */
export function findOpenSecrets(directory: string): Finding {
  const names = attempt(directory, () => readdirSync(directory)).filter((name) => secretName.test(name));
  const modeOf = (name: string) => statSync(join(directory, name), { throwIfNoEntry: false })?.mode ?? 0;
  // One may be removed meanwhile, at the end of a change of keys.
  const open = names.filter((name) => (modeOf(name) & 0o077) !== 0);
  if (open.length === 0) {
    return { level: "ok", message: `${directory}: ${names.length} secrets, accessible only by their owner` };
  }
  return {
    level: "warn",
    message: `${directory}: group or others can access ${open.join(", ")}`,
    next: `chmod 600 ${open.map((name) => join(directory, name)).join(" ")}`,
  };
}

/** Whether this user may write to a directory. The daemon creates a missing one at start. */
export function findUnwritable(directory: string): Finding {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return { level: "ok", message: `${directory} is writable` };
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) {
      return {
        level: "warn",
        message: `${directory} does not exist yet`,
        next: "the daemon creates it, if it may write to the parent directory",
      };
    }
    return {
      level: "fail",
      message: `${directory}: ${reasonOf(thrown)}`,
      next: "change its owner to the user of the daemon (chown), and run this check as that user",
    };
  }
}

/** Finds directories that are missing or cannot be read. */
export function findUnreadable(directories: readonly string[]): Finding {
  const problems = directories.flatMap((directory) => {
    try {
      accessSync(directory, constants.R_OK | constants.X_OK);
      return [];
    } catch (thrown) {
      return [`${directory}: ${reasonOf(thrown)}`];
    }
  });
  if (problems.length === 0) return { level: "ok", message: directories.join(", ") };
  return {
    level: "warn",
    message: problems.join("; "),
    next: "create the directory, or set another; without it there is nothing to serve",
  };
}

function attempt<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw new SvcError("bad_request", `cannot read ${path}: ${reasonOf(thrown)}`);
  }
}
