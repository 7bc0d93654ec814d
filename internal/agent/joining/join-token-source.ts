import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";

/** A token is far shorter. */
const maxBytes = 16 * 1024;
const standardInput = 0;
const credential = "join-token";

/** Where a join token may be given; the first of these counts. */
export interface JoinTokenPlaces {
  /** On the command line. */
  word?: string;
  /** `--token-file`; `-` is standard input. */
  file?: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** The text of a token, and where it is from, for messages. */
export interface JoinTokenText {
  source: string;
  text: string;
  /** Other users of this host could read it. */
  isVisible?: true;
}

/**
 * Finds the join token of this host.
 *
 * @returns `undefined` when none is given
 * @throws SvcError `usage` when two are named, `bad_request` for a file that cannot be read
 */
export function readJoinToken({ word, file, env }: JoinTokenPlaces): JoinTokenText | undefined {
  if (word !== undefined && file !== undefined) {
    throw new SvcError("usage", "give the token or --token-file, not both");
  }
  if (word !== undefined) return { source: "the token on the command line", text: word, isVisible: true };
  if (file === "-") return { source: "standard input", text: readBounded("standard input", standardInput) };
  if (file !== undefined) return { source: file, text: readFile(file) };
  const { SVC_JOIN_TOKEN: variable, CREDENTIALS_DIRECTORY: directory } = env;
  if (variable !== undefined && variable !== "") return { source: "SVC_JOIN_TOKEN", text: variable };
  if (directory === undefined || directory === "") return undefined;
  const path = join(directory, credential);
  try {
    return { source: path, text: readFile(path) };
  } catch (thrown) {
    if (thrown instanceof SvcError && isErrno(thrown.cause, "ENOENT")) return undefined;
    throw thrown;
  }
}

function readFile(path: string): string {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (cause) {
    throw new SvcError("bad_request", `cannot read the join token in ${path}: ${reasonOf(cause)}`, { cause });
  }
  try {
    return readBounded(path, file);
  } finally {
    closeSync(file);
  }
}

function readBounded(source: string, file: number): string {
  const bytes = Buffer.alloc(maxBytes + 1);
  let length = 0;
  try {
    for (let got = -1; got !== 0 && length < bytes.length; length += got) {
      got = readSync(file, bytes, length, bytes.length - length, null);
    }
  } catch (cause) {
    throw new SvcError("bad_request", `cannot read the join token in ${source}: ${reasonOf(cause)}`, {
      cause,
    });
  }
  if (length > maxBytes) throw new SvcError("bad_request", `${source}: too long for a join token`);
  return bytes.toString("utf8", 0, length);
}
