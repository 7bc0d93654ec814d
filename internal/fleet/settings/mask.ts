import type { Plain } from "../../base/msgpack.ts";
import { isSecretName } from "../../base/names/secret-name.ts";
import { isSecretText } from "../../base/names/secret-text.ts";
import { plainValue } from "../../base/yaml/yaml.ts";
import type { Assignment, Merged } from "../../tree/settings/mod.ts";

/** What is shown in place of a secret, whatever it is: also a list or a map, whose length tells something. */
export const masked = "********";

/** How settings are shown: `mask`, or `reveal` for those who may see everything. */
export type Showing = "mask" | "reveal";

/** Makes what is shown in place of a secret. */
export type Hide = (secret: Plain) => Plain;

const hides = { mask: () => masked, reveal: (secret) => secret } as const satisfies Record<Showing, Hide>;

/** The value of a setting as it is shown. */
export function shownValue(merged: Merged, showing: Showing): Plain {
  return valueWith(merged, hides[showing]);
}

/** The value of a setting, with something else in place of each secret. */
export function valueWith(merged: Merged, hide: Hide): Plain {
  if (merged.path.some(isSecretName)) return hide(wholeValue(merged));
  return buildValue(
    merged,
    (set) => setWith(set, hide),
    (inner) => valueWith(inner, hide),
  );
}

/** Whether nothing of a setting is shown, nor the names in it: because of its name or of one around it. */
export function isMasked({ path }: Pick<Merged, "path">, showing: Showing): boolean {
  return showing === "mask" && path.some(isSecretName);
}

/** What one file set, as it is shown. */
export function shownSet(set: Assignment, showing: Showing): Plain {
  return showing === "reveal" ? (plainValue(set.node) as Plain) : setWith(set, hides[showing]);
}

const wholeValue = (merged: Merged): Plain =>
  buildValue(merged, ({ node }) => plainValue(node) as Plain, wholeValue);

function buildValue(
  { entries, sets }: Merged,
  ofSet: (set: Assignment) => Plain,
  ofEntry: (inner: Merged) => Plain,
): Plain {
  if (entries !== undefined) {
    return Object.fromEntries([...entries].map(([name, inner]) => [name, ofEntry(inner)]));
  }
  const last = sets.at(-1);
  return last === undefined ? {} : ofSet(last);
}

function setWith({ node, layer, path }: Assignment, hide: Hide): Plain {
  const value = plainValue(node) as Plain;
  return layer.isSecret || path.some(isSecretName) ? hide(value) : withoutSecrets(value, hide);
}

function withoutSecrets(value: Plain, hide: Hide): Plain {
  if (typeof value === "string") {
    return isSecretText(value) ? hide(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, hide));
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      isSecretName(name) ? hide(inner) : withoutSecrets(inner, hide),
    ]),
  );
}
