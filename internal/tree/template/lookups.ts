import type { Plain } from "../../base/msgpack.ts";
import { plain } from "./filters.ts";

type Values = Readonly<Record<string, Plain>>;

/** The values that a template can look up. Templates cannot run functions of the host. */
export interface Scope {
  /** Facts of the peel. */
  facts: Values;
  settings: Values;
  /**
   * What the filter `svc_hold` makes of a rendered text; without it the text stays.
   *
   * @param isData whether a filter wrote the text as one YAML value
   */
  hold?(text: string, isData: boolean): string;
}

/** A function for templates; it must not throw. */
type Lookup = (...args: unknown[]) => unknown;

const tableNames = ["facts", "grains", "settings", "pillar"] as const;
/** What templates find in `salt`. */
export const functionNames: readonly string[] = tableNames.map((table) => `${table}.get`);

/** The global variables of a template. */
export function globalsOf({ facts, settings }: Scope): Record<string, unknown> {
  const lookUpFact = lookupIn(facts);
  const lookUpSetting = lookupIn(settings);
  const tables: Record<(typeof tableNames)[number], { get: Lookup }> = {
    facts: { get: lookUpFact },
    grains: { get: lookUpFact },
    settings: { get: lookUpSetting },
    pillar: { get: lookUpSetting },
  };
  const names = Object.entries(tables).map(([table, { get }]) => [`${table}.get`, get]);
  const salt = { ...tables, ...Object.fromEntries(names) };
  return { facts, grains: facts, settings, pillar: settings, salt, svc: salt };
}

/**
 * `get(path, default)`: colons in a path lead into maps and lists; without a default the result is an empty
 * string, as in Salt.
 */
function lookupIn(values: Values): Lookup {
  return (path, ...rest) => {
    const [last] = rest.slice(-1);
    const named = last instanceof Map && last.has("default") ? last.get("default") : undefined;
    const fallback = named ?? (rest.length > 0 && !(last instanceof Map) ? rest[0] : "");
    return valueAt(values, String(path).split(":")) ?? plain(fallback);
  };
}

/** A key may contain a colon itself; the shortest key that leads to a value wins. */
function valueAt(at: Plain | Values | undefined, words: readonly string[]): Plain | undefined {
  if (words.length === 0) return at as Plain | undefined;
  if (Array.isArray(at))
    return /^\d{1,9}$/.test(words[0] ?? "") ? valueAt(at[Number(words[0])], words.slice(1)) : undefined;
  if (typeof at !== "object" || at === null || at instanceof Uint8Array) return undefined;
  for (let length = 1; length <= words.length; length++) {
    const key = words.slice(0, length).join(":");
    if (!Object.hasOwn(at, key)) continue;
    const found = valueAt((at as Values)[key], words.slice(length));
    if (found !== undefined) return found;
  }
  return undefined;
}
