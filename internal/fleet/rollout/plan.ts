import { SvcError } from "../../base/errors.ts";

const maxWaves = 1_000;

/** A number of peels, or a fraction of all peels. */
export type Size = { peels: number } | { percent: number };

/** Reads `10`, `"10"`, `"25%"` or `"0"`. @throws SvcError `bad_request` */
export function parseSize(value: string | number): Size {
  const text = String(value);
  const [, digits, sign] = /^(\d{1,6})(%?)$/.exec(text) ?? [];
  const amount = Number(digits);
  if (digits === undefined || (sign === "%" && amount > 100)) {
    throw new SvcError(
      "bad_request",
      `${JSON.stringify(text.slice(0, 40))} is neither a number of peels, such as 10, nor 0% to 100%`,
    );
  }
  return sign === "%" ? { percent: amount } : { peels: amount };
}

/**
 * The number of peels for a size. The caller chooses how a percentage is rounded: up for a wave, down for a
 * limit.
 */
export function peelsOf(size: Size, all: number, round: "up" | "down"): number {
  if ("peels" in size) return size.peels;
  const exact = (all * size.percent) / 100;
  return round === "up" ? Math.ceil(exact) : Math.floor(exact);
}

/**
 * Cuts a list into a canary and waves. Each size is one wave. The last size repeats until every peel is in a
 * wave; the remaining peels form the last wave.
 *
 * @param sizes at least one
 * @returns where each wave ends, ascending; the last is `all`
 * @throws SvcError `bad_request` for an empty wave, or more than 1,000 waves
 */
export function cutWaves(all: number, canary: Size, sizes: readonly Size[]): number[] {
  const bounds: number[] = [];
  let end = 0;
  const add = (peels: number) => {
    end = Math.min(all, end + peels);
    bounds.push(end);
    if (bounds.length > maxWaves) {
      throw new SvcError("bad_request", `waves: more than ${maxWaves} waves; make them larger`);
    }
  };
  const first = peelsOf(canary, all, "up");
  if (first > 0) add(first);
  for (let at = 0; end < all; at++) {
    const peels = peelsOf(sizes[Math.min(at, sizes.length - 1)] ?? { percent: 100 }, all, "up");
    if (peels === 0) throw new SvcError("bad_request", "waves: a wave needs at least one peel");
    add(peels);
  }
  return bounds;
}
