import { createHmac } from "node:crypto";
import type { Random } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { masked } from "../settings/mod.ts";

/** Stands for secrets while a plan is made: what it shows would be the same for another secret. */
export interface PlanTokens {
  /**
   * The token of a secret at a place. It is the same on both sides of a plan, so that a changed secret is seen, and
   * another one at each place, so that nobody sees whether two secrets are equal.
   */
  tokenOf(secret: Plain, path: readonly string[]): Plain;
  /** A value with `********` for each token in it. */
  hide(value: Plain): Plain;
}

const tokenForm = /t[0-9a-f]{24}/g;
/** As many numbers, all of which are ports as well. */
const numbers = 1 << 15;

export function createPlanTokens(random: Random): PlanTokens {
  const key = random(32);
  const texts = new Set<string>();
  const known = new Set<number>();
  const macOf = (secret: Plain, path: readonly string[]) => {
    const text = JSON.stringify(secret, (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value,
    );
    return createHmac("sha256", key)
      .update(JSON.stringify([path, typeof secret, text]))
      .digest();
  };
  const tokenOf = (secret: Plain, path: readonly string[]): Plain => {
    if (Array.isArray(secret)) return secret.map((item, at) => tokenOf(item, [...path, String(at)]));
    if (isMap(secret)) {
      return Object.fromEntries(
        Object.entries(secret).map(([name, inner]) => [name, tokenOf(inner as Plain, [...path, name])]),
      );
    }
    if (secret === null || typeof secret === "boolean") return true;
    const mac = macOf(secret, path);
    if (typeof secret === "number") {
      const number = 1 + (mac.readUInt16BE() % numbers);
      known.add(number);
      return number;
    }
    const text = `t${mac.toString("hex").slice(0, 24)}`;
    texts.add(text);
    return text;
  };
  const hide = (value: Plain): Plain => {
    if (typeof value === "string") {
      return value.replaceAll(tokenForm, (found) => (texts.has(found) ? masked : found));
    }
    if (typeof value === "number") return known.has(value) ? masked : value;
    if (Array.isArray(value)) return value.map(hide);
    if (!isMap(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [String(hide(name)), hide(inner as Plain)]),
    );
  };
  return { tokenOf, hide };
}
