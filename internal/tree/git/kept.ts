import { join } from "node:path";
import * as v from "valibot";
import { attempt } from "../../base/errors.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { sha256Hex } from "../../base/sha256.ts";

/** The last good content of a ref. */
export interface KeptRef {
  /** What the ref pointed to. */
  object: string;
  /** The commit whose files are used. */
  commit: string;
}

/** What a mirror knows in addition to its objects, also for the next process. */
export interface Kept {
  refs: Map<string, KeptRef>;
  /** When a sync saw an object first, milliseconds since the Unix epoch. */
  seen: Map<string, number>;
  /** The version of the newest release when a commit of a ref came into force, by `<ref> <commit>`. */
  released: Map<string, number>;
}

const id = v.pipe(v.string(), v.regex(/^[0-9a-f]{40,64}$/));
const stored = v.object({
  v: v.literal(1),
  refs: v.record(v.string(), v.object({ object: id, commit: id })),
  seen: v.record(id, v.pipe(v.number(), v.integer())),
  released: v.optional(v.record(v.string(), v.pipe(v.number(), v.integer())), {}),
});

const fileName = "svc-kept.json";

/** Nothing when the file is missing or damaged: everything is then fetched again. */
export function readKept(repository: string): Kept {
  const parsed = v.safeParse(stored, jsonOf(readTextIfPresent(join(repository, fileName)) ?? ""));
  if (!parsed.success) return { refs: new Map(), seen: new Map(), released: new Map() };
  const { refs, seen, released } = parsed.output;
  return {
    refs: new Map(Object.entries(refs)),
    seen: new Map(Object.entries(seen)),
    released: new Map(Object.entries(released)),
  };
}

export function writeKept(repository: string, { refs, seen, released }: Kept): void {
  const value = {
    v: 1,
    refs: Object.fromEntries(refs),
    seen: Object.fromEntries(seen),
    released: Object.fromEntries(released),
  };
  writeFileAtomic(join(repository, fileName), `${JSON.stringify(value)}\n`, secretMode);
}

/** Where a mirror holds a ref: one branch may be named like the directory of another, names of slots never. */
export function slotOf(ref: string): string {
  return `refs/svc/${sha256Hex(ref)}`;
}

function jsonOf(text: string): unknown {
  return attempt(() => JSON.parse(text));
}
