import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/file.ts";
import { atLine, fileError } from "../../base/place.ts";
import { readConfigFile } from "../../program/config/read-file.ts";
import { readRules } from "./read-rule.ts";
import { maxRules, type Rule } from "./rule.ts";

const maxFiles = 256;
const maxBytes = 8 * 1024 * 1024;

/** The rules of a directory. */
export interface RuleSet {
  /** In the order of the files' names, and within a file as they stand. */
  readonly rules: readonly Rule[];
  /** SHA-256 over names and contents of the files, in hexadecimal. */
  readonly digest: string;
  /** Paths of the files that were read. */
  readonly files: readonly string[];
}

/** The files of a directory of rules as they are now. */
export interface RuleFiles {
  readonly digest: string;
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * Reads every `*.yaml` of a directory of rules; a directory that is not there has none.
 *
 * @throws SvcError `bad_request`: `<file>:<line>:<column>: <reason>`, or `<file>: <reason>` where no line is
 *   to blame; `forbidden` for what may not be read
 */
export function loadRules(directory: string): RuleSet {
  return rulesOf(readRuleFiles(directory));
}

/**
 * Reads the files of a directory of rules without looking at what is in them.
 *
 * @throws SvcError as `loadRules`
 */
export function readRuleFiles(directory: string): RuleFiles {
  const texts = new Map<string, string>();
  const hash = createHash("sha256");
  let bytes = 0;
  for (const name of namesIn(directory)) {
    const path = join(directory, name);
    const text = readFile(path);
    if (text === undefined) continue;
    bytes += Buffer.byteLength(text);
    if (bytes > maxBytes) throw new SvcError("bad_request", `${directory}: the rules are larger than 8 MiB`);
    texts.set(path, text);
    hash.update(JSON.stringify([name, text]));
  }
  return { digest: hash.digest("hex"), texts };
}

/**
 * The rules in files that were read.
 *
 * @throws SvcError as `loadRules`
 */
export function rulesOf({ digest, texts }: RuleFiles): RuleSet {
  const byName = new Map<string, Rule>();
  for (const [path, text] of texts) {
    for (const rule of readRules(text, path)) {
      const other = byName.get(rule.name);
      if (other !== undefined) {
        const where = atLine(other.file, other.at.line);
        throw fileError(path, rule.at, `the name ${rule.name} is taken by the rule at ${where}`);
      }
      byName.set(rule.name, rule);
      if (byName.size > maxRules) throw fileError(path, rule.at, `more than ${maxRules} rules`);
    }
  }
  return { rules: [...byName.values()], digest, files: [...texts.keys()] };
}

function namesIn(directory: string): string[] {
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => !name.startsWith("."));
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return [];
    const kind = isErrno(thrown, "EACCES") ? "forbidden" : "bad_request";
    throw new SvcError(kind, `cannot read the directory of rules ${directory}: ${reasonOf(thrown)}`);
  }
  const other = names.find((name) => name.endsWith(".yml"));
  if (other !== undefined) {
    throw new SvcError(
      "bad_request",
      `${join(directory, other)}: rename it to end with .yaml, or it is not read`,
    );
  }
  const files = names.filter((name) => name.endsWith(".yaml")).sort();
  if (files.length > maxFiles) {
    throw new SvcError("bad_request", `${directory}: more than ${maxFiles} files of rules`);
  }
  return files;
}

/** The text of a file, or `undefined` when it is gone by now. */
function readFile(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  // Reading a pipe or device would never end.
  if (found !== undefined && !found.isFile()) throw new SvcError("bad_request", `${path}: not a file`);
  return found === undefined ? undefined : readConfigFile(path);
}
