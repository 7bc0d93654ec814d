/** Columns under their heads: the first to the left, numbers to the right. @param texts how many columns are texts */
export function table(heads: string[], rows: string[][], texts = 1): string {
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)));
  return [heads, ...rows]
    .map((row) =>
      widths
        .map((width, at) => (at < texts ? (row[at] ?? "").padEnd(width) : (row[at] ?? "").padStart(width)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export const rate = (perSecond: number): string => perSecond.toFixed(0);
export const ratio = (value: number): string => `${value.toFixed(2)} x`;
export const milliseconds = (value: number): string => value.toFixed(2);
export const mebibytes = (value: number): string => value.toFixed(1);
/** The least and the most of some rates. */
export const spread = (values: number[]): string =>
  `${rate(Math.min(...values))}-${rate(Math.max(...values))}`;
