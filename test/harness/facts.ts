import type { Facts } from "../../internal/host/facts/fact.ts";
import { findFact } from "../../internal/host/facts/find-fact.ts";
import type { Host } from "../../internal/host/facts/host.ts";
import type { FactStore } from "../../internal/host/facts/store.ts";

/** Given facts, without collection; `set` changes them in memory. */
export function fixedFacts(facts: Facts): FactStore {
  const listeners = new Set<() => void>();
  let current = facts;
  return {
    ready: Promise.resolve(),
    items: () => current,
    collected: () => facts,
    get: (path, fallback) => findFact(current, path) ?? fallback,
    set(name, value) {
      const { [name]: _, ...rest } = current;
      current = value === null ? rest : { ...rest, [name]: value };
      for (const run of listeners) run();
    },
    refresh: async () => false,
    onChange(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
  };
}

/** The files of a fake host. A directory exists when a file in it does. */
export interface HostFixture {
  files?: Readonly<Record<string, string | Error>>;
  links?: Readonly<Record<string, string>>;
  env?: Host["env"];
  uname?: Partial<Host["uname"]>;
  user?: Host["user"];
  platform?: string;
  hostname?: string;
  interfaces?: ReturnType<Host["interfaces"]>;
  /** Bytes, by mount point. */
  sizes?: Readonly<Record<string, number>>;
}

/** A host made of texts. */
export function fixtureHost(fixture: HostFixture = {}): Host {
  const files = new Map<string, string | Error>(Object.entries(fixture.files ?? {}));
  const below = (path: string) => [...files.keys()].filter((name) => name.startsWith(`${path}/`));
  return {
    platform: fixture.platform ?? "linux",
    hostname: fixture.hostname ?? "web-1.example.com",
    uname: {
      type: "Linux",
      release: "6.1.0-18-amd64",
      version: "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1",
      machine: "x86_64",
      nodename: "web-1",
      ...fixture.uname,
    },
    user: fixture.user,
    env: fixture.env ?? {},
    interfaces: () => fixture.interfaces ?? {},
    cpus: () => [{ model: "Test CPU" }, { model: "Test CPU" }],
    totalMemory: () => 2048 * 1024 * 1024,
    read(path) {
      const text = files.get(path);
      if (text instanceof Error) throw text;
      return text;
    },
    list: (path) =>
      [...new Set(below(path).map((name) => name.slice(path.length + 1).split("/")[0] ?? ""))].sort(),
    exists: (path) => files.has(path) || below(path).length > 0,
    linkTarget: (path) => fixture.links?.[path],
    async fileSystemSize(path) {
      const size = fixture.sizes?.[path];
      if (size === undefined) throw new Error(`no such mount: ${path}`);
      return size;
    },
  };
}
