import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { makeDirectory } from "../../base/file.ts";
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

/**
 * @param dir parent directory of the mirrors; each has its own directory below it
 */
export function openMirror(
  url: string,
  { git, dir, clock }: { git: Git; dir: string; clock: Clock },
): Mirror {
  const repository = join(dir, sha256Hex(url).slice(0, 32));
  const contents = openCatFile(git, repository, clock);
  let hashes = new Map<string, Pick<ManifestFile, "digest" | "size" | "blobs">>();
  let trees = new Map<string, { files: Contents; warnings: readonly string[]; objects: readonly string[] }>();

  const prepare = async () => {
    makeDirectory(dir, 0o700);
    if (existsSync(join(repository, "HEAD"))) return;
    await git.run(dir, ["init", "--quiet", "--bare", "--template=", repository]);
  };

  const ownRefs = async () => {
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
  };

  const fetchRefs = async (names: readonly string[], warnings: string[]) => {
    const fetchOnce = (some: readonly string[]) =>
      git.run(repository, [
        "fetch",
        ...["--quiet", "--force", "--depth=1", "--no-tags", "--no-write-fetch-head"],
        "--no-recurse-submodules",
        "--",
        url,
        ...some.map((name) => `+${name}:${name}`),
      ]);
    for (let at = 0; at < names.length; at += refsAtOnce) {
      const some = names.slice(at, at + refsAtOnce);
      try {
        await fetchOnce(some);
      } catch (thrown) {
        if (some.length === 1) warnings.push(`${some[0]}: ${describeError(thrown)}`);
        else {
          // Fetch one by one, so that a failing ref does not affect the others.
          for (const name of some) {
            await fetchOnce([name]).catch((again) => warnings.push(`${name}: ${describeError(again)}`));
          }
        }
      }
    }
  };

  const readTree = async (commit: string) => {
    const warnings: string[] = [];
    const text = await git.run(repository, ["ls-tree", "-r", "-z", "-l", "--full-tree", commit]);
    const entries = text.split("\0").flatMap((line) => {
      const match = /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t([\s\S]+)$/.exec(line);
      if (match === null) return [];
      const [, mode = "", type, object = "", size, path = ""] = match;
      const problem = leftOut({ mode, type, size: Number(size), path });
      if (problem === undefined) return [{ path, object, executable: mode === "100755" }];
      warnings.push(`${JSON.stringify(path.slice(0, 200))}: ${problem}; not published`);
      return [];
    });
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
      files.set(path, { ...hashed, executable, pieces: () => piecesOf(object) });
    }
    return { files, warnings, objects };
  };

  async function* piecesOf(object: string): AsyncGenerator<Uint8Array> {
    yield* cut(await contents.read(object));
  }

  const read = async (warnings: string[]): Promise<MirrorState> => {
    const refs = await ownRefs();
    const commits = new Map(refs.map(({ name, commit }) => [name, commit]));
    const environments = new Map<string, GitEnvironment>();
    const next: typeof trees = new Map();
    const named = [
      ...environmentsOf(
        refs.map(({ name }) => name),
        warnings,
      ),
    ];
    if (named.length > maxEnvironments) {
      warnings.push(
        `only the first ${maxEnvironments} of ${named.length} branches and tags are environments`,
      );
    }
    for (const [name, ref] of named.slice(0, maxEnvironments)) {
      const commit = commits.get(ref);
      if (commit === undefined) {
        warnings.push(`${ref}: does not point to a commit`);
        continue;
      }
      const tree = next.get(commit) ?? trees.get(commit) ?? (await readTree(commit));
      if (!next.has(commit)) warnings.push(...tree.warnings.map((line) => `${ref}: ${line}`));
      next.set(commit, tree);
      environments.set(name, { ref, commit, files: tree.files });
    }
    trees = next;
    const used = new Set([...trees.values()].flatMap(({ objects }) => objects));
    hashes = new Map([...hashes].filter(([object]) => used.has(object)));
    return { environments, warnings };
  };

  return {
    remote: shownUrl(url),
    async sync() {
      await prepare();
      const refs = parseRefs(await git.run(repository, ["ls-remote", "--heads", "--tags", "--", url]));
      if (refs.length === 0) throw new SvcError("unavailable", "the repository has no branches or tags");
      const own = new Map((await ownRefs()).map(({ name, object }) => [name, object]));
      const there = new Set(refs.map(({ name }) => name));
      const gone = [...own.keys()].filter((name) => !there.has(name));
      if (gone.length > 0) {
        await git.run(repository, ["update-ref", "--stdin"], gone.map((name) => `delete ${name}\n`).join(""));
      }
      const warnings: string[] = [];
      const changed = refs.filter(({ name, object }) => own.get(name) !== object);
      await fetchRefs(
        changed.map(({ name }) => name),
        warnings,
      );
      return read(warnings);
    },
    async load() {
      if (!existsSync(join(repository, "HEAD"))) return { environments: new Map(), warnings: [] };
      return read([]);
    },
    stop: () => contents.stop(),
  };
}

/** Why an entry of a tree is not published. */
function leftOut(entry: { mode: string; type: string | undefined; size: number; path: string }) {
  if (entry.type === "commit") return "a submodule";
  if (entry.mode === "120000") return "a symbolic link";
  if (entry.type !== "blob") return "neither a file nor a directory";
  if (entry.size > maxFileBytes) return `larger than ${maxFileBytes / 1024 / 1024} MiB`;
  return pathProblem(entry.path);
}
