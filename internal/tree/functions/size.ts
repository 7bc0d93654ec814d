import { quote } from "../../base/cut.ts";
import type { Plain } from "../../base/msgpack.ts";
import { StateFailure } from "../function/mod.ts";

const units = { b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40, p: 2 ** 50 } as const;
type Unit = keyof typeof units;

/**
 * The bytes of `10G`, `1.5g`, `512MiB` or a number.
 *
 * @param name the argument, for the message
 * @param unit that of a number without one
 * @throws StateFailure
 */
export function parseSize(name: string, written: Plain, unit: Unit): number {
  const [, amount, given = unit] = /^(\d+(?:\.\d+)?)\s*([bkmgtp])?(?:i?b)?$/i.exec(String(written)) ?? [];
  const bytes = Math.round(Number(amount) * units[given.toLowerCase() as Unit]);
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new StateFailure(`${name}: ${quote(String(written), 40)} is not a size, such as 512m`);
}
