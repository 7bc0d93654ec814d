import { SvcError } from "../../base/errors.ts";

/** How many peels a batch has: a number of them, or a part of all. */
export type BatchSize = { peels: number } | { percent: number };

/**
 * Reads `10` or `25%`.
 *
 * @throws SvcError `bad_request`
 */
export function parseBatchSize(text: string): BatchSize {
  const [, digits = "", sign] = /^(\d{1,9})(%?)$/.exec(text) ?? [];
  const amount = Number(digits);
  if (amount < 1 || (sign === "%" && amount > 100)) {
    throw new SvcError(
      "bad_request",
      `${JSON.stringify(text.slice(0, 40))} is not a batch: write a number of peels, such as 10, or 1% to 100%`,
    );
  }
  return sign === "%" ? { percent: amount } : { peels: amount };
}

/** Cuts a list into batches of one size; the last may be smaller. A percentage is rounded up. */
export function batchesOf<T>(items: readonly T[], size: BatchSize): T[][] {
  const length = "peels" in size ? size.peels : Math.ceil((items.length * size.percent) / 100);
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += length) batches.push(items.slice(at, at + length));
  return batches;
}
