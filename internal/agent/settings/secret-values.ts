import type { Plain } from "../../base/msgpack.ts";
import { isSecretName } from "../../base/names/secret-name.ts";
import { isSecretText, passwordIn } from "../../base/names/secret-text.ts";
import { isMap } from "../../base/plain-map.ts";

/** A value of settings that must not leave this host in the clear. */
export interface SecretValue {
  /** The names that lead to it, with colons between them. */
  readonly name: string;
  readonly text: string;
}

/**
 * The secret values of settings: by their names, by the places that the masters name, and by their form.
 *
 * @param places names that lead to secrets whose own names do not show it
 */
export function secretValues(
  settings: { readonly [name: string]: Plain },
  places: readonly (readonly string[])[],
): SecretValue[] {
  const marked = new Set(places.map(keyOf));
  const found: SecretValue[] = [];
  const visit = (value: Plain, path: readonly string[], isSecret: boolean) => {
    if (Array.isArray(value)) {
      for (const [at, item] of value.entries()) visit(item, [...path, String(at)], isSecret);
    } else if (isMap(value)) {
      for (const [name, inner] of Object.entries(value)) {
        const next = [...path, name];
        visit(inner as Plain, next, isSecret || isSecretName(name) || marked.has(keyOf(next)));
      }
    } else {
      const text = textOf(value);
      if (text === undefined || (!isSecret && !isSecretText(text))) return;
      const name = path.join(":");
      found.push({ name, text });
      const password = isSecret ? undefined : passwordIn(text);
      if (password !== undefined) found.push({ name, text: password });
    }
  };
  visit({ ...settings }, [], false);
  return found;
}

/** The settings with a map without names in the place of each secret: its name stays, and no target finds its value. */
export function shownSettings(
  settings: { readonly [name: string]: Plain },
  places: readonly (readonly string[])[],
): { [name: string]: Plain } {
  const marked = new Set(places.map(keyOf));
  const shown = (value: Plain, path: readonly string[]): Plain => {
    if (Array.isArray(value)) return value.map((item, at) => shown(item, [...path, String(at)]));
    if (typeof value === "string") return isSecretText(value) ? {} : value;
    return isMap(value) ? shownMap(value as { [name: string]: Plain }, path) : value;
  };
  const shownMap = (map: { readonly [name: string]: Plain }, path: readonly string[]) =>
    Object.fromEntries(
      Object.entries(map).map(([name, inner]): [string, Plain] => {
        const next = [...path, name];
        return [name, isSecretName(name) || marked.has(keyOf(next)) ? {} : shown(inner, next)];
      }),
    );
  return shownMap(settings, []);
}

const keyOf = (path: readonly string[]) => JSON.stringify(path);

/** A value as it is written somewhere; true, false and null are in every text. */
function textOf(value: Plain): string | undefined {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}
