import { SvcError } from "../base/errors.ts";
import { readFlag } from "../program/command-line/mod.ts";

/** Reads `--limit`. @throws SvcError `usage` */
export function readLimit(text: string, max: number): number {
  return readFlag("--limit", text, () => {
    const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (limit >= 1 && limit <= max) return limit;
    const given = JSON.stringify(text.slice(0, 40));
    throw new SvcError("bad_request", `${given} is not a number from 1 to ${max}`);
  });
}
