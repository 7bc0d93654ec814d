import { createHash } from "node:crypto";
import type { FollowedTree } from "../../internal/fleet/settings/follow.ts";
import type { Facts } from "../../internal/host/facts/fact.ts";
import { createCompilers } from "../../internal/tree/settings/compile.ts";
import { changedPaths, type SettingsTree } from "../../internal/tree/settings/tree.ts";

/** A tree of settings files made of texts. */
export function treeOf(texts: Readonly<Record<string, string>>): SettingsTree {
  const files = Object.entries(texts).map(([path, text]) => {
    const digest = createHash("sha256").update(text).digest("hex");
    return [path, { stamp: digest, digest, text }] as const;
  });
  return { directory: "/settings", files: new Map(files) };
}

/** A tree that a test changes. */
export function changingTree(texts: Readonly<Record<string, string>>): FollowedTree & {
  become(texts: Readonly<Record<string, string>>): void;
} {
  const listeners = new Set<(changed: ReadonlySet<string>) => void>();
  let tree = treeOf(texts);
  return {
    get tree() {
      return tree;
    },
    problem: undefined,
    checked: Promise.resolve(),
    onChange(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
    become(next) {
      const before = tree;
      tree = treeOf(next);
      for (const run of listeners) run(changedPaths(before, tree));
    },
    scan: () => {},
    stop: () => {},
  };
}

/** Compiles one peel's settings from texts. */
export async function compileTexts(
  texts: Readonly<Record<string, string>>,
  peelId = "web-1_example_com",
  facts: Facts = {},
): Promise<{ settings: unknown; uses: string[] }> {
  const uses = new Set<string>();
  const { settings } = await createCompilers()(treeOf(texts)).compile({ peelId, facts }, uses);
  return { settings, uses: [...uses].sort() };
}

/** The names in settings, at every depth; what else is in them is a value. */
export function keysOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(keysOf);
    return items.every((item) => item === "value") ? "value" : items;
  }
  if (typeof value !== "object" || value === null) return "value";
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, keysOf(item)]));
}
