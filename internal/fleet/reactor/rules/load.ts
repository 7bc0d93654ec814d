import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../../base/errors.ts";
import { isErrno, reasonOf } from "../../../base/files/file.ts";
import { atLine, fileError } from "../../../base/place.ts";
import { readConfigFile } from "../../../program/config/mod.ts";
import { readRules } from "./read-rule.ts";
import { maxRules, type RefusedRule, type Rule } from "./rule.ts";

const maxFiles = 256;
const maxBytes = 8 * 1024 * 1024;

/** The rules of a directory. */
export interface RuleSet {
  /** In order of file names, and within a file in order of appearance. */
  readonly rules: readonly Rule[];
  /** Rules of these files that are not in force, in the same order. */
  readonly refused: readonly RefusedRule[];
  /** SHA-256 over names and contents of the files, in hexadecimal. */
  readonly digest: string;
  /** Paths of the loaded files. */
  readonly files: readonly string[];
}

/** The current files of a rules directory. */
export interface RuleFiles {
  readonly digest: string;
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * Reads every `*.yaml` file of a rules directory. A missing directory has no rules.
 *
 * @throws SvcError `bad_request`: `<file>:<line>:<column>: <reason>`, or `<file>: <reason>` when no line
 *   applies; `forbidden` without read permission
 */
export function loadRules(directory: string): RuleSet {
  return rulesOf(readRuleFiles(directory));
}

/**
 * Reads the files of a rules directory without parsing them.
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
 * Parses the rules in files.
 *
 * @throws SvcError as `loadRules`
 */
export function rulesOf({ digest, texts }: RuleFiles): RuleSet {
  const byName = new Map<string, Rule | RefusedRule>();
  const rules: Rule[] = [];
  const refused: RefusedRule[] = [];
  for (const [path, text] of texts) {
    const found = readRules(text, path);
    for (const rule of [...found.rules, ...found.refused]) {
      const other = byName.get(rule.name);
      if (other !== undefined) {
        const where = atLine(other.file, other.at.line);
        throw fileError(path, rule.at, `the name ${rule.name} is already used by the rule at ${where}`);
      }
      byName.set(rule.name, rule);
      if (byName.size > maxRules) throw fileError(path, rule.at, `more than ${maxRules} rules`);
    }
    rules.push(...found.rules);
    refused.push(...found.refused);
  }
  return { rules, refused, digest, files: [...texts.keys()] };
}

function namesIn(directory: string): string[] {
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => !name.startsWith("."));
  } catch (thrown) {
    if (isErrno(thrown, "ENOENT")) return [];
    const kind = isErrno(thrown, "EACCES") ? "forbidden" : "bad_request";
    throw new SvcError(kind, `cannot read the rules directory ${directory}: ${reasonOf(thrown)}`);
  }
  const other = names.find((name) => name.endsWith(".yml"));
  if (other !== undefined) {
    throw new SvcError(
      "bad_request",
      `${join(directory, other)}: the file would be ignored; rename it to end with .yaml`,
    );
  }
  const files = names.filter((name) => name.endsWith(".yaml")).sort();
  if (files.length > maxFiles) {
    throw new SvcError("bad_request", `${directory}: more than ${maxFiles} rule files`);
  }
  return files;
}

/** The text of a file, or `undefined` when it was removed in the meantime. */
function readFile(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  // Reading from a pipe or device might never return.
  if (found !== undefined && !found.isFile())
    throw new SvcError("bad_request", `${path}: not a regular file`);
  return found === undefined ? undefined : readConfigFile(path);
}
