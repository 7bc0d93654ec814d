import * as v from "valibot";
import { rfc3339 } from "./clock.ts";
import { type IdPrefix, isId } from "./id.ts";
import { instant } from "./instant.ts";
import { type Fields, type Kind, record } from "./record.ts";

// How the fields of stored records are stored that many records have.

type Form = v.GenericSchema | Kind;
type SchemaOf<F> = F extends { read: infer S extends v.GenericSchema }
  ? S
  : F extends v.GenericSchema
    ? F
    : never;
type With<F, Marks> = (F extends { read: v.GenericSchema } ? F : { read: F }) & Marks;

const kindOf = (form: Form): Kind => ("read" in form ? form : { read: form });

/** A field that may be absent. */
export const optional = <const F extends Form>(form: F) =>
  ({ ...kindOf(form), isOptional: true }) as unknown as With<F, { isOptional: true }>;

/** A field that counts as absent where it cannot be read. */
export const lenient = <const S extends v.GenericSchema>(schema: S) =>
  optional(v.fallback(v.optional(schema), undefined));

/** A field that people do not see. */
export const hidden = <const F extends Form>(form: F) =>
  ({ ...kindOf(form), isHidden: true }) as unknown as With<F, { isHidden: true }>;

/** Milliseconds since the Unix epoch, stored as RFC 3339. */
export const time = {
  read: instant,
  write: rfc3339,
  shown: v.pipe(v.string(), v.isoTimestamp()),
} satisfies Kind;

/** The same in signed records: there is one spelling for each moment. */
export const exactTime = {
  ...time,
  read: v.pipe(
    v.string(),
    v.isoTimestamp(),
    v.check(isExactTime, "must be RFC 3339 in UTC with milliseconds"),
    v.transform((found) => Date.parse(found)),
  ),
} satisfies Kind;

/** Whether a text is RFC 3339 in UTC with milliseconds. */
export function isExactTime(found: string): boolean {
  const at = Date.parse(found);
  return !Number.isNaN(at) && rfc3339(at) === found;
}

/** Bytes as they are: a part of what was read. */
export const blob: v.GenericSchema<Uint8Array> = v.instance(Uint8Array);

/** Bytes, of one length if one is given. They are copied: a part of a message would keep all of it in memory. */
export const bytes = (length?: number) =>
  v.pipe(
    v.instance(Uint8Array),
    v.check((found) => length === undefined || found.length === length, `must be ${length} bytes`),
    v.transform((found): Uint8Array => new Uint8Array(found)),
  );

/** A record inside another one. Unknown fields of one that is open are ignored. */
export const part = <const F extends Fields>(fields: F, options: { isOpen?: boolean } = {}) =>
  record("part", fields, options);

/** A text of 1 to `max` characters. */
export const text = (max: number) =>
  ({ read: v.pipe(v.string(), v.minLength(1), v.maxLength(max)), shown: v.string() }) satisfies Kind;

/** A text with a form of its own. */
export const textOf = (isOne: (found: string) => boolean, expected: string) =>
  ({ read: v.pipe(v.string(), v.check(isOne, `must be ${expected}`)), shown: v.string() }) satisfies Kind;

/** A whole number from `min` on. */
export const count = (min: number) =>
  ({ read: v.pipe(v.number(), v.integer(), v.minValue(min)), shown: v.number() }) satisfies Kind;

/** An identifier of this kind. */
export const id = (prefix: IdPrefix) => textOf((found) => isId(prefix, found), `${prefix}- and a KSUID`);

/** Values of one kind, in their order. */
export function list<const F extends Form>(form: F, max = Number.POSITIVE_INFINITY) {
  const { read, write, shown } = kindOf(form);
  return {
    read: v.pipe(v.array(read), v.maxLength(max)) as unknown as v.GenericSchema<
      v.InferInput<SchemaOf<F>>[],
      readonly v.InferOutput<SchemaOf<F>>[]
    >,
    write: (values: readonly v.InferOutput<SchemaOf<F>>[]) =>
      write === undefined ? [...values] : values.map((one) => write(one as never)),
    shown: v.array(shown ?? read),
  } satisfies Kind;
}
