import { maxEnvironments } from "./catalog.ts";
import { type Contents, overlay } from "./contents.ts";
import type { SnapshotOrigin } from "./manifest.ts";
import type { Environment, Publisher } from "./publish.ts";

/** The content of one source of state files. */
export interface Layer {
  /** The repository URL; absent for `states_dir`. */
  remote?: string;
  environments: ReadonlyMap<string, { files: Contents; ref?: string; commit?: string }>;
  /** Whether this is the current content. Otherwise it is the result of an earlier read, or empty. */
  confirmed: boolean;
}

export interface Composition {
  environments: readonly Environment[];
  /**
   * Environments that keep their published snapshot, because this master has not yet read one of their
   * sources.
   */
  unchanged: readonly string[];
  /** Environments that are omitted because the maximum number is exceeded. */
  omitted: readonly string[];
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
    const room = Math.max(0, maxEnvironments - unchanged.size);
    const next: typeof merged = new Map();
    const environments = wanted.slice(0, room).map((name): Environment => {
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
          directory: found.some(({ layer }) => layer.remote === undefined),
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
    return { environments, unchanged: [...unchanged], omitted: wanted.slice(room) };
  };
}

/** Whether a source of the published environment may have content that this master has not read yet. */
function isUnread(layer: Layer, name: string, origin: SnapshotOrigin): boolean {
  if (layer.confirmed) return false;
  if (layer.remote === undefined) return origin.directory;
  const published = origin.commits.find(({ remote }) => remote === layer.remote);
  return published !== undefined && layer.environments.get(name)?.commit !== published.commit;
}
