import { maxEnvironments } from "./catalog.ts";
import { type Contents, overlay } from "./contents.ts";
import type { SnapshotOrigin } from "./manifest.ts";
import type { Environment, Publisher } from "./publish.ts";

/** What one source of state files has. */
export interface Layer {
  /** A repository; absent for `states_dir`. */
  remote?: string;
  environments: ReadonlyMap<string, { files: Contents; ref?: string; commit?: string }>;
  /** Whether this is what the source has now; if not, it is what was read of it some time ago, or nothing. */
  confirmed: boolean;
}

export interface Composition {
  environments: readonly Environment[];
  /** Those that stay as they are published: something that was in them was never read by this master. */
  unchanged: readonly string[];
  /** Those that are left out, as there are too many. */
  omitted: readonly string[];
}

/**
 * Puts environments together from sources in the order of precedence: of files with the same path the first
 * source's is taken. The environment `base` is always there.
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

/** Whether a source that an environment was made of may have something else now than this master knows. */
function isUnread(layer: Layer, name: string, origin: SnapshotOrigin): boolean {
  if (layer.confirmed) return false;
  if (layer.remote === undefined) return origin.directory;
  const published = origin.commits.find(({ remote }) => remote === layer.remote);
  return published !== undefined && layer.environments.get(name)?.commit !== published.commit;
}
