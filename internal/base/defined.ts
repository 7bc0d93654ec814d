/** The fields of `T` without those that are `undefined`: what may be so is optional. */
export type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/**
 * The fields that have a value, in their order. For optional properties, which must be absent and may not be
 * `undefined`: `{ id, ...defined({ reason }) }`.
 */
export function defined<T extends object>(fields: T): Defined<T> {
  const found: Record<string, unknown> = {};
  // Twice as fast as over the entries; the fields come from a literal and inherit none.
  for (const key in fields) {
    if (fields[key] !== undefined) found[key] = fields[key];
  }
  return found as Defined<T>;
}
