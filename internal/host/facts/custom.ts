import { readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { describeError, SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf } from "../../base/files/file.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import type { FactProblem } from "./collect.ts";
import type { FactLayer } from "./merge.ts";
import { parseFacts } from "./parse.ts";
import { readFactText } from "./read-text.ts";

const dataExtensions = new Set([".yaml", ".yml", ".json"]);
const maxFileBytes = 256 * 1024;
const maxFiles = 64;
const atOnce = 8;
const writableByOthers = 0o022;
const executable = 0o111;

export interface CustomFactsOptions {
  /** `facts.d`; it need not exist. */
  directory: string;
  /** The user this program runs as. */
  uid: number;
  /** Runs a program and returns its output. @throws when it fails, times out or prints too much */
  run(path: string): Promise<string>;
}

/**
 * Reads custom facts: files with YAML or JSON maps, and programs that print one. Sources are read in the
 * order of their names; a later one wins. A faulty source is left out; the others are not affected.
 */
export async function readCustomFacts(
  options: CustomFactsOptions,
): Promise<{ layers: FactLayer[]; problems: FactProblem[] }> {
  const problems: FactProblem[] = [];
  const names = factFiles(options.directory, problems);
  const layers = await mapBounded(names, { atOnce }, async (name): Promise<FactLayer | undefined> => {
    const path = join(options.directory, name);
    try {
      const text = await readOne(path, options);
      if (text === undefined) return undefined;
      const { facts, refused } = parseFacts(text, path);
      for (const reason of refused) problems.push({ source: path, reason });
      return { source: path, facts };
    } catch (thrown) {
      const reason = thrown instanceof SvcError ? thrown.message : describeError(thrown);
      problems.push({ source: path, reason });
      return undefined;
    }
  });
  return { layers: layers.filter((layer) => layer !== undefined), problems };
}

function factFiles(directory: string, problems: FactProblem[]): string[] {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (thrown) {
    if (!isErrno(thrown, "ENOENT")) problems.push({ source: directory, reason: reasonOf(thrown) });
    return [];
  }
  const files = names.filter((name) => !name.startsWith(".") && !name.endsWith("~")).sort();
  if (files.length > maxFiles) {
    problems.push({
      source: directory,
      reason: `only the first ${maxFiles} of ${files.length} files are read`,
    });
  }
  return files.slice(0, maxFiles);
}

async function readOne(path: string, options: CustomFactsOptions): Promise<string | undefined> {
  const stats = statSync(path);
  if (!stats.isFile()) return undefined;
  if (dataExtensions.has(extname(path))) {
    if (stats.size > maxFileBytes) throw new SvcError("bad_request", "larger than 256 KiB");
    return readFactText(path);
  }
  if ((stats.mode & executable) === 0) return undefined;
  const real = realpathSync(path);
  for (const checked of [options.directory, dirname(real), real]) {
    const reason = distrusted(checked, statSync(checked), options.uid);
    if (reason !== undefined) throw new SvcError("bad_request", `not run: ${reason}`);
  }
  return options.run(real);
}

/** Why another user could make this user run programs; `undefined` when no other user can write here. */
function distrusted(path: string, stats: Stats, uid: number): string | undefined {
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, "0");
  if (stats.uid !== 0 && stats.uid !== uid) {
    return `${path} belongs to the user ${stats.uid} (mode ${mode}): change the owner to root or ${uid}`;
  }
  if ((stats.mode & writableByOthers) !== 0) {
    return `${path} has mode ${mode}: remove write permission for group and others`;
  }
  return undefined;
}
