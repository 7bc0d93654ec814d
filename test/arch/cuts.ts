import { isProduction, parse, type Source, type Violation } from "./source.ts";

/** The parts of the product that put texts into what leaves a peel. */
const rooms = /^internal\/(?:agent|base|host|tree)\//;
/** A cut at a number of characters; digests in hexadecimal are no texts, and constants of lists are named differently. */
const cut =
  /(?<!Hex\([^()]*\))\.(?:slice|substring)\((?:0, ?|-)(?:[2-9]\d|\d[\d_]{2,}|[\w.]*(?:Characters|Text|Reason|Source|LineLength|CommandLength))\)/g;

/** Files that cut what is masked already. */
const masked = new Set(["internal/agent/execution/report-output.ts"]);

/** Texts that are cut without a mark: half of a secret that stands there is not found. */
export function checkCuts(sources: Source[]): Violation[] {
  return sources
    .filter((source) => isProduction(source) && rooms.test(source.path) && !masked.has(source.path))
    .flatMap((source) =>
      [...parse(source).code.matchAll(cut)].map(([text]) => ({
        path: source.path,
        problem: `cuts a text with ${text}; use a function of base/cut.ts, at whose mark halves of secrets are masked`,
      })),
    );
}
