import type { SnapshotOrigin } from "../files/mod.ts";
import { type Contents, overlay } from "../files/mod.ts";
import type { Environment } from "./environment.ts";
import type { Publisher } from "./publish.ts";

/** The content of one source of state files. */
export interface Layer {
  /** The repository URL; absent for `states_dir`. */
  remote?: string;
  environments: ReadonlyMap<string, { files: Contents; ref?: string; commit?: string }>;
  /** Environments that the source has, but whose content cannot be used now. */
  held?: ReadonlySet<string>;
  /**
   * Whether this is the current content. Otherwise it is the result of an earlier read, or empty. A set names the
   * environments that were read.
   */
  confirmed: boolean | ReadonlySet<string>;
}

/** What the sources give. */
export interface Composition {
  /** `base` first, then by name. */
  environments: readonly Environment[];
  /**
   * Environments that keep their published snapshot, because this master has not yet read one of their sources, or
   * cannot use what it has.
   */
  unchanged: readonly string[];
}

/**
 * Composes environments from sources in order of precedence: when several sources have a file with the same
 * path, the first one wins. The environment `base` always exists.
 */
export function createComposer(): (
  layers: readonly Layer[],
  published: Pick<Publisher, "environments" | "originOf">,
) => Composition {
  let merged = new Map<string, { parts: readonly Contents[]; files: Contents }>();
  return (layers, published) => {
    const origins = new Map(published.environments().map((name) => [name, published.originOf(name)]));
    const frozen = [...origins].flatMap(([name, origin]) =>
      origin !== undefined && layers.some((layer) => isUnread(layer, name, origin)) ? [name] : [],
    );
    const unchanged = new Set(frozen);
    const names = new Set(["base", ...layers.flatMap(({ environments }) => [...environments.keys()]).sort()]);
    const wanted = [...names].filter((name) => !unchanged.has(name));
    const next: typeof merged = new Map();
    const environments = wanted.map((name): Environment => {
      const found = layers.flatMap((layer) => {
        const part = layer.environments.get(name);
        return part === undefined ? [] : [{ layer, part }];
      });
      const parts = found.map(({ part }) => part.files);
      const before = merged.get(name);
      const same =
        before?.parts.length === parts.length && before.parts.every((part, at) => part === parts[at]);
      const entry = same && before !== undefined ? before : { parts, files: overlay(parts) };
      next.set(name, entry);
      return {
        name,
        origin: {
          // A directory without files gives none.
          directory: found.some(({ layer, part }) => layer.remote === undefined && part.files.size > 0),
          commits: found.flatMap(({ layer: { remote }, part: { ref, commit } }) =>
            remote === undefined || ref === undefined || commit === undefined
              ? []
              : [{ remote, ref, commit }],
          ),
        },
        files: entry.files,
      };
    });
    merged = next;
    return { environments, unchanged: [...unchanged] };
  };
}

/** Whether a source of the published environment has, or may have, content that this master cannot use now. */
function isUnread(layer: Layer, name: string, origin: SnapshotOrigin): boolean {
  const published = origin.commits.find(({ remote }) => remote === layer.remote);
  if (layer.held?.has(name) === true) return published !== undefined;
  if (layer.confirmed === true || (layer.confirmed !== false && layer.confirmed.has(name))) return false;
  if (layer.remote === undefined) return origin.directory;
  return published !== undefined && layer.environments.get(name)?.commit !== published.commit;
}
