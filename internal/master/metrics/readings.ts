/** The value of each label, from what is known of it. */
export function mapValues<T>(
  record: Readonly<Record<string, T>> | undefined,
  value: (item: T) => number,
): Record<string, number> {
  return Object.fromEntries(Object.entries(record ?? {}).map(([key, item]) => [key, value(item)]));
}

/** 1 for true; `undefined` stays unknown. */
export function flag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

export function seconds(epochMs: number | undefined): number | undefined {
  return epochMs === undefined ? undefined : epochMs / 1000;
}
