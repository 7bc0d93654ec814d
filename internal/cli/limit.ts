import { SvcError } from "../base/errors.ts";
import { readFlag } from "../program/command-line/mod.ts";

/** The flag `--limit` of a command that lists. @param what the listed things, in the plural */
export function limitArg(what: string, range: { most: number; usual: number }) {
  return {
    type: "string",
    valueHint: "n",
    default: String(range.usual),
    description: `Maximum number of ${what}, 1 to ${range.most}`,
  } as const;
}

/** Its value. @throws SvcError `bad_request` */
export function readLimit(text: string, { most }: { most: number }): number {
  return readFlag("--limit", text, (value) => {
    const limit = /^\d{1,9}$/.test(value) ? Number(value) : 0;
    if (limit >= 1 && limit <= most) return limit;
    throw new SvcError(
      "bad_request",
      `${JSON.stringify(value.slice(0, 40))} is not a number from 1 to ${most}`,
    );
  });
}
