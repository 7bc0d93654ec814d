import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { allFunctions } from "../../host/modules/mod.ts";
import { matchGlob } from "../../tree/targets/mod.ts";

/**
 * The functions that a glob matches, by their own name or by an alias: `grains.*` are those of `facts.*` too.
 *
 * @throws SvcError `bad_request` when it matches none, with the nearest name
 */
export function functionsOf(pattern: string): string[] {
  const found = allFunctions.filter(({ name, aliases = [] }) =>
    [name, ...aliases].some((each) => matchGlob(pattern, each)),
  );
  if (found.length > 0) return found.map(({ name }) => name);
  const names = allFunctions.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  const modules = [...new Set(names.map((name) => `${name.split(".")[0]}.*`))];
  const shown = JSON.stringify(pattern.slice(0, 80));
  throw new SvcError(
    "bad_request",
    `${shown} matches no function${suggestion(pattern, [...names, ...modules])}`,
  );
}
