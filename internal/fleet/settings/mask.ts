import { redact } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isSecretName } from "../../base/names/secret-name.ts";
import { plainValue } from "../../base/yaml/yaml.ts";
import type { Assignment, Merged } from "../../tree/settings/mod.ts";

/** What is shown in place of a secret, whatever it is: also a list or a map, whose length tells something. */
export const masked = "********";

/** How settings are shown: `mask`, or `reveal` for those who may see everything. */
export type Showing = "mask" | "reveal";

/** The value of a setting as it is shown. */
export function shownValue(merged: Merged, showing: Showing): Plain {
  if (isMasked(merged, showing)) return masked;
  const { entries } = merged;
  if (entries !== undefined) {
    return Object.fromEntries([...entries].map(([name, inner]) => [name, shownValue(inner, showing)]));
  }
  const last = merged.sets.at(-1);
  return last === undefined ? {} : shownSet(last, showing);
}

/** Whether nothing of a setting is shown, nor the names in it: because of its name or of one around it. */
export function isMasked({ path }: Pick<Merged, "path">, showing: Showing): boolean {
  return showing === "mask" && path.some(isSecretName);
}

/** What one file set, as it is shown. */
export function shownSet({ node, layer, path }: Assignment, showing: Showing): Plain {
  const value = plainValue(node) as Plain;
  if (showing === "reveal") return value;
  return layer.isSecret || path.some(isSecretName) ? masked : withoutSecrets(value);
}

/** Keys in the PEM form with headers, and passwords in URLs, which no log has. */
const secretText = /-----BEGIN [A-Z ]*PRIVATE KEY-----|:\/\/[^/\s:@]*:[^/\s@]+@/;

function withoutSecrets(value: Plain): Plain {
  if (typeof value === "string") {
    return secretText.test(value) || redact(value) !== value ? masked : value;
  }
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, isSecretName(name) ? masked : withoutSecrets(inner)]),
  );
}
