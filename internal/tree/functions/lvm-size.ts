import type { Plain } from "../../base/msgpack.ts";
import { StateFailure } from "../function/mod.ts";

const units: Readonly<Record<string, number>> = {
  b: 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40,
  p: 2 ** 50,
};

/** The bytes of `10G`, `1.5g`, `512M` or a number of megabytes, as LVM reads them. @throws StateFailure */
export function parseSize(written: Plain): number {
  const [, amount, unit = "m"] = /^(\d+(?:\.\d+)?)\s*([bkmgtp])?(?:i?b)?$/i.exec(String(written)) ?? [];
  const bytes = Number(amount) * (units[unit.toLowerCase()] ?? 0);
  if (Number.isSafeInteger(Math.round(bytes)) && bytes > 0) return Math.round(bytes);
  throw new StateFailure(`size: ${JSON.stringify(String(written).slice(0, 40))} is not a size, such as 10G`);
}
