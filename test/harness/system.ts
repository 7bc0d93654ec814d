import { basename, dirname, join, resolve } from "node:path";
import type { ProgramOptions, ProgramResult, System } from "../../internal/host/system/system.ts";

export interface SystemFixture {
  files?: Readonly<Record<string, string>>;
  /** Targets of symbolic links, by path. */
  links?: Readonly<Record<string, string>>;
  facts?: Readonly<Record<string, string>>;
  /** Programs the host has. */
  programs?: readonly string[];
  /** The exit codes and output of programs; by default 0 and empty. */
  answer?(argv: readonly string[], options: ProgramOptions): Partial<ProgramResult> | undefined;
  /** Milliseconds. */
  now?: number;
}

/** A host made of texts that can be written to; `ran` has every program that was run. */
export function fixtureSystem(fixture: SystemFixture = {}): System & {
  files: Map<string, string>;
  links: Map<string, string>;
  ran: string[];
  read(path: string): string | undefined;
} {
  const files = new Map(Object.entries(fixture.files ?? {}));
  const links = new Map(Object.entries(fixture.links ?? {}));
  const memory = new Map<string, unknown>();
  const ran: string[] = [];
  const paths = () => [...files.keys(), ...links.keys()];
  const realPath = (path: string): string => {
    if (path === "/") return path;
    const at = join(realPath(dirname(path)), basename(path));
    const target = links.get(at);
    return target === undefined ? at : realPath(resolve(dirname(at), target));
  };
  const isDirectory = (path: string) => paths().some((each) => each.startsWith(`${path}/`));
  return {
    files,
    links,
    ran,
    read: (path) => files.get(path),
    readBytes: (path) => (files.has(path) ? Buffer.from(files.get(path) ?? "", "latin1") : undefined),
    readOwn: (path) => files.get(path),
    list(path) {
      const below = paths().filter((each) => each.startsWith(`${path}/`));
      return [...new Set(below.map((each) => each.slice(path.length + 1).split("/")[0] ?? ""))].sort();
    },
    exists: (path) => paths().includes(path) || isDirectory(path),
    isDirectory,
    modifiedAt: (path) => (paths().includes(path) || isDirectory(path) ? 0 : undefined),
    linkTarget: (path) => links.get(path),
    realPath,
    write: (path, content) =>
      void files.set(path, typeof content === "string" ? content : Buffer.from(content).toString("latin1")),
    makeDirectories: () => {},
    remove: (path) => void (files.delete(path) || links.delete(path)),
    link: (path, target) => void links.set(path, target),
    poke: (path, text) => void files.set(path, text),
    has: (program) => fixture.programs?.includes(program) ?? false,
    async run(argv, options = {}) {
      ran.push(argv.join(" "));
      return { code: 0, stdout: "", stderr: "", ...fixture.answer?.(argv, options) };
    },
    fact: (name) => fixture.facts?.[name],
    now: () => fixture.now ?? 0,
    memo<Value>(key: string, find: () => Value): Value {
      if (!memory.has(key)) memory.set(key, find());
      return memory.get(key) as Value;
    },
    forget: () => memory.clear(),
  };
}
