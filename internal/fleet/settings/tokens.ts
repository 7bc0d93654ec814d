import type { Random } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Hide } from "./mask.ts";

const tokenBytes = 12;
/** As many numbers, all of which are ports as well. */
const numbers = 1 << 15;

/**
 * Makes random tokens in place of secrets. A list or a map keeps its form, which files that use it depend on; every
 * condition is true.
 */
export function createTokens(random: Random): Hide {
  const tokenOf = (secret: Plain): Plain => {
    if (Array.isArray(secret)) return secret.map(tokenOf);
    if (typeof secret === "boolean") return true;
    if (typeof secret === "number" || typeof secret === "bigint") {
      return 1 + (Buffer.from(random(2)).readUInt16BE() % numbers);
    }
    if (secret === null) return null;
    if (typeof secret === "object" && !(secret instanceof Uint8Array)) {
      return Object.fromEntries(Object.entries(secret).map(([name, inner]) => [name, tokenOf(inner)]));
    }
    return Buffer.from(random(tokenBytes)).toString("hex");
  };
  return tokenOf;
}
