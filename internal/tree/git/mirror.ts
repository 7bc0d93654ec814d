import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { makeDirectory } from "../../base/files/file.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { sha256Hex } from "../../base/sha256.ts";
import {
  type Content,
  type Contents,
  cut,
  type ManifestFile,
  maxEnvironments,
  maxFiles,
  pathProblem,
  startHashing,
} from "../files/mod.ts";
import { openCatFile } from "./cat-file.ts";
import { type Git, shownUrl } from "./git.ts";
import { environmentsOf, parseRefs } from "./refs.ts";

/** Larger files are left out, because a file is held in memory while it is read. */
const maxFileBytes = 64 * 1024 * 1024;
/** Number of refs per fetch. */
const refsAtOnce = 50;
const readsAtOnce = 64;

/** An environment of a repository. */
export interface GitEnvironment {
  ref: string;
  commit: string;
  files: Contents;
}

/** A local mirror of a repository: the newest commit of each branch and tag. */
export interface Mirror {
  /** The URL without credentials. */
  readonly remote: string;
  /**
   * Lists the branches and tags of the remote, and fetches changed ones.
   *
   * @returns the current environments, and warnings about refs and files that were left out or not fetched
   * @throws SvcError `unavailable` when the remote does not answer; the mirror is not changed
   */
  sync(): Promise<MirrorState>;
  /** Returns the previously fetched state, without contacting the remote. @throws SvcError `unavailable` */
  load(): Promise<MirrorState>;
  stop(): Promise<void>;
}

export interface MirrorState {
  environments: ReadonlyMap<string, GitEnvironment>;
  warnings: readonly string[];
}

/** A repository on this host. */
interface Local {
  git: Git;
  url: string;
  /** Its directory. */
  repository: string;
  contents: ReturnType<typeof openCatFile>;
  /** What is known of the objects of the last environments. */
  hashes: Map<string, Pick<ManifestFile, "digest" | "size" | "blobs">>;
  /** The trees of the last environments, by commit. */
  trees: Map<string, Tree>;
}

interface Tree {
  files: Contents;
  warnings: readonly string[];
  objects: readonly string[];
}

/**
 * @param dir parent directory of the mirrors; each has its own directory below it
 */
export function openMirror(
  url: string,
  { git, dir, clock }: { git: Git; dir: string; clock: Clock },
): Mirror {
  const repository = join(dir, sha256Hex(url).slice(0, 32));
  const contents = openCatFile(git, repository, clock);
  const local: Local = { git, url, repository, contents, hashes: new Map(), trees: new Map() };
  const isPrepared = () => existsSync(join(repository, "HEAD"));
  return {
    remote: shownUrl(url),
    async sync() {
      makeDirectory(dir, 0o700);
      if (!isPrepared()) await git.run(dir, ["init", "--quiet", "--bare", "--template=", repository]);
      const warnings: string[] = [];
      await fetchRefs(local, await changedRefs(local), warnings);
      return read(local, warnings);
    },
    async load() {
      if (!isPrepared()) return { environments: new Map(), warnings: [] };
      return read(local, []);
    },
    stop: () => contents.stop(),
  };
}

/** Removes the refs that the remote has no more. @returns those that it has another object for */
async function changedRefs(local: Local): Promise<string[]> {
  const { git, repository, url } = local;
  const refs = parseRefs(await git.run(repository, ["ls-remote", "--heads", "--tags", "--", url]));
  if (refs.length === 0) throw new SvcError("unavailable", "the repository has no branches or tags");
  const own = new Map((await ownRefs(local)).map(({ name, object }) => [name, object]));
  const there = new Set(refs.map(({ name }) => name));
  const gone = [...own.keys()].filter((name) => !there.has(name));
  if (gone.length > 0) {
    await git.run(repository, ["update-ref", "--stdin"], gone.map((name) => `delete ${name}\n`).join(""));
  }
  return refs.filter(({ name, object }) => own.get(name) !== object).map(({ name }) => name);
}

async function ownRefs({ git, repository }: Local) {
  const format = "%(objectname)\t%(refname)\t%(objecttype)\t%(*objectname)\t%(*objecttype)";
  const text = await git.run(repository, ["for-each-ref", `--format=${format}`, "refs/heads", "refs/tags"]);
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [object = "", name = "", type, target = "", targetType] = line.split("\t");
      const commit = type === "commit" ? object : targetType === "commit" ? target : undefined;
      return { name, object, commit };
    });
}

async function fetchRefs(local: Local, names: readonly string[], warnings: string[]): Promise<void> {
  for (let at = 0; at < names.length; at += refsAtOnce) {
    const some = names.slice(at, at + refsAtOnce);
    try {
      await fetchOnce(local, some);
    } catch (thrown) {
      if (some.length === 1) warnings.push(`${some[0]}: ${describeError(thrown)}`);
      else {
        // Fetch one by one, so that a failing ref does not affect the others.
        for (const name of some) {
          await fetchOnce(local, [name]).catch((again) => warnings.push(`${name}: ${describeError(again)}`));
        }
      }
    }
  }
}

const fetchOnce = ({ git, repository, url }: Local, names: readonly string[]) =>
  git.run(repository, [
    "fetch",
    ...["--quiet", "--force", "--depth=1", "--no-tags", "--no-write-fetch-head"],
    "--no-recurse-submodules",
    "--",
    url,
    ...names.map((name) => `+${name}:${name}`),
  ]);

/** Reads the environments of the repository as it is on this host. */
async function read(local: Local, warnings: string[]): Promise<MirrorState> {
  const refs = await ownRefs(local);
  const commits = new Map(refs.map(({ name, commit }) => [name, commit]));
  const environments = new Map<string, GitEnvironment>();
  const next: Local["trees"] = new Map();
  const names = refs.map(({ name }) => name);
  const named = [...environmentsOf(names, warnings)];
  if (named.length > maxEnvironments) {
    warnings.push(`only the first ${maxEnvironments} of ${named.length} branches and tags are environments`);
  }
  for (const [name, ref] of named.slice(0, maxEnvironments)) {
    const commit = commits.get(ref);
    if (commit === undefined) {
      warnings.push(`${ref}: does not point to a commit`);
      continue;
    }
    const tree = next.get(commit) ?? local.trees.get(commit) ?? (await readTree(local, commit));
    if (!next.has(commit)) warnings.push(...tree.warnings.map((line) => `${ref}: ${line}`));
    next.set(commit, tree);
    environments.set(name, { ref, commit, files: tree.files });
  }
  local.trees = next;
  const used = new Set([...next.values()].flatMap(({ objects }) => objects));
  local.hashes = new Map([...local.hashes].filter(([object]) => used.has(object)));
  return { environments, warnings };
}

async function readTree(local: Local, commit: string): Promise<Tree> {
  const { git, repository, contents, hashes } = local;
  const text = await git.run(repository, ["ls-tree", "-r", "-z", "-l", "--full-tree", commit]);
  const warnings: string[] = [];
  const entries = entriesOf(text, warnings);
  if (entries.length > maxFiles) {
    throw new SvcError("too_large", `the commit ${commit} has more than ${maxFiles} files`);
  }
  const objects = [...new Set(entries.map(({ object }) => object))];
  const unhashed = objects.filter((object) => !hashes.has(object));
  await mapBounded(unhashed, { atOnce: readsAtOnce }, async (object) => {
    const hashing = startHashing();
    for (const piece of cut(await contents.read(object))) hashing.add(piece);
    hashes.set(object, hashing.result());
  });
  const files = new Map<string, Content>();
  for (const { path, object, executable } of entries) {
    const hashed = hashes.get(object);
    if (hashed === undefined) continue;
    files.set(path, { ...hashed, executable, pieces: () => piecesOf(contents, object) });
  }
  return { files, warnings, objects };
}

/** The files in a listing of `git ls-tree`. What is not published is a warning. */
function entriesOf(listing: string, warnings: string[]) {
  return listing.split("\0").flatMap((line) => {
    const match = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t([\s\S]+)$/.exec(line);
    if (match === null) return [];
    const [, mode = "", type, object = "", size, path = ""] = match;
    const problem = leftOut({ mode, type, size: Number(size), path });
    if (problem === undefined) return [{ path, object, executable: mode === "100755" }];
    warnings.push(`${JSON.stringify(path.slice(0, 200))}: ${problem}; not published`);
    return [];
  });
}

async function* piecesOf(contents: Local["contents"], object: string): AsyncGenerator<Uint8Array> {
  yield* cut(await contents.read(object));
}

/** Why an entry of a tree is not published. */
function leftOut(entry: { mode: string; type: string | undefined; size: number; path: string }) {
  if (entry.type === "commit") return "a submodule";
  if (entry.mode === "120000") return "a symbolic link";
  if (entry.type !== "blob") return "neither a file nor a directory";
  if (entry.size > maxFileBytes) return `larger than ${maxFileBytes / 1024 / 1024} MiB`;
  return pathProblem(entry.path);
}
