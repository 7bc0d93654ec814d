import type { Route } from "./route.ts";

/** A route of the listener, or of its documentation, which has a handler of its own. */
export type Ruled = Omit<Route, "handle">;

/** Finds routes by their paths. */
export interface RouteFinder {
  /** The first route of a path, whatever its method. */
  first(path: string): Ruled | undefined;
  /** Every route of a path. */
  all(path: string): Ruled[];
}

/** A path of more parts has the route of a pattern that ends with anything, or none. */
const maxParts = 16;

function partsOf(path: string): number {
  let parts = 1;
  for (let at = path.indexOf("/"); at >= 0 && parts < maxParts; at = path.indexOf("/", at + 1)) parts++;
  return parts;
}

/** Each request looks for its route, so only patterns with as many parts are tried. */
export function createRouteFinder(routes: readonly Ruled[]): RouteFinder {
  const patterns = routes.map((route) => ({
    route,
    pattern: new RegExp(`^${route.path.replace(/:[a-z]+/g, "[^/]+").replace(/\*$/, ".*")}$`),
  }));
  const byParts = new Map<number, typeof patterns>();
  return {
    first(path) {
      const parts = partsOf(path);
      let fitting = byParts.get(parts);
      if (fitting === undefined) {
        fitting = patterns.filter(({ route }) => route.path.endsWith("*") || partsOf(route.path) === parts);
        byParts.set(parts, fitting);
      }
      return fitting.find(({ pattern }) => pattern.test(path))?.route;
    },
    all: (path) => patterns.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route),
  };
}
