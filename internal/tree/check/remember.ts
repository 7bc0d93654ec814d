import { createBoundedMap } from "../../base/bounded-map.ts";
import { SvcError } from "../../base/errors.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { FileSource } from "../files/mod.ts";
import type { Judged } from "./judge-file.ts";
import { maxFileBytes } from "./read-file.ts";

/** What one file looked at, besides itself, and what it rests on therefore. */
export interface Uses {
  /** The text of a file that a template loads. @throws SvcError when it cannot be used */
  read(path: string): Promise<string | undefined>;
  /** The paths of the tree. */
  paths(): readonly string[];
  /** The variables, of which those are noticed that tell the environment. */
  watched(variables: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
}

interface Known extends Judged {
  digest: string;
  /** Digests of the files that it loads; `undefined` for those that do not exist. */
  loads: ReadonlyMap<string, string | undefined>;
  /** Digest of all paths, when it looked at them. */
  paths: string | undefined;
  environment: string | undefined;
}

/** Remembers what was found in a file: it is read again only when it, or what it rests on, is another one. */
export interface Memory {
  /** @param kind of the check: what is found differs between them */
  of(
    files: FileSource,
    kind: string,
  ): (path: string, judge: (uses: Uses) => Promise<Judged>) => Promise<Judged>;
}

const maxKnown = 60_000;
/** Characters of templates that other files load. */
const maxTexts = 32 * 1024 * 1024;

export function createMemory(): Memory {
  const known = createBoundedMap<Known>(maxKnown);
  return {
    of(files, kind) {
      const reader = createReader(files);
      return async (path, judge) => {
        const digest = files.stat(path)?.digest ?? "";
        const key = `${kind} ${path}`;
        const before = known.get(key);
        if (before?.digest === digest && reader.isSame(before)) return before;
        const { uses, rests } = reader.record();
        const judged = await judge(uses);
        return known.set(key, { ...judged, digest, ...rests() });
      };
    },
  };
}

/** The text of a file, or why there is none. */
export async function textOf(
  path: string,
  files: FileSource,
): Promise<{ text: string } | { problem: string }> {
  if ((files.stat(path)?.size ?? 0) > maxFileBytes) return { problem: "larger than 1 MiB" };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(await files.read(path)) };
  } catch (thrown) {
    if (thrown instanceof TypeError) return { problem: "not valid UTF-8" };
    if (thrown instanceof SvcError && thrown.kind === "bad_request") return { problem: thrown.message };
    throw thrown;
  }
}

function createReader(files: FileSource): {
  record(): { uses: Uses; rests(): Pick<Known, "loads" | "paths" | "environment"> };
  isSame(known: Known): boolean;
} {
  let digestOfPaths: string | undefined;
  const pathsDigest = () => {
    digestOfPaths ??= sha256Hex(Buffer.from(files.list("").join("\0")));
    return digestOfPaths;
  };
  const texts = createBoundedMap<Promise<string>>(maxTexts);
  const text = async (path: string): Promise<string> => {
    const source = await textOf(path, files);
    if ("text" in source) return source.text;
    throw new SvcError("bad_request", `${path}: ${source.problem}`);
  };
  return {
    isSame: ({ loads, paths, environment }) =>
      (paths === undefined || paths === pathsDigest()) &&
      (environment === undefined || environment === files.environment) &&
      [...loads].every(([path, digest]) => files.stat(path)?.digest === digest),
    record() {
      const loads = new Map<string, string | undefined>();
      let checked = false;
      let named = false;
      const uses: Uses = {
        async read(path) {
          const stat = files.stat(path);
          loads.set(path, stat?.digest);
          if (stat === undefined) return undefined;
          return await (texts.get(path) ?? texts.set(path, text(path), stat.size + 1));
        },
        paths() {
          checked = true;
          return files.list("");
        },
        watched(variables) {
          const own = { ...variables };
          for (const name of ["saltenv", "env"]) {
            Object.defineProperty(own, name, {
              enumerable: true,
              get() {
                named = true;
                return variables[name];
              },
            });
          }
          return own;
        },
      };
      const rests = () => ({
        loads,
        paths: checked ? pathsDigest() : undefined,
        environment: named ? files.environment : undefined,
      });
      return { uses, rests };
    },
  };
}
