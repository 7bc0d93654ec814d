import * as v from "valibot";
import { attempt, SvcError } from "./errors.ts";
import { type DecodeLimits, decode, encode, type Plain } from "./msgpack.ts";
import { isMap } from "./plain-map.ts";

// A stored record is declared once, as a map of its fields. The type of its values, the names under which they are
// stored, the checks of what is read, its bytes, and what people see of it follow from that.

/** How a value is stored. A schema alone is a kind whose values are stored as they are. */
export interface Kind {
  /** Reads what is stored, and refuses everything else. */
  readonly read: v.GenericSchema;
  /** Makes what is stored of a value; absent where that is the value itself. */
  readonly write?: ((value: never) => unknown) | undefined;
  /** The schema of what is stored, for answers to people; `read` unless given. */
  readonly shown?: v.GenericSchema | undefined;
  readonly isOptional?: true;
  readonly isHidden?: true;
}

type Form = v.GenericSchema | Kind;

/**
 * Fields by their names in the code, in the order in which they are stored. One that is stored under another name is
 * a list: that name, its kind, and what it is, for people.
 */
export type Fields = Readonly<
  Record<string, Form | readonly [stored: string, form: Form, description?: string]>
>;

type FormOf<F> = F extends readonly [string, infer K, ...unknown[]] ? K : F;
type NameOf<F, K> = F extends readonly [infer N extends string, ...unknown[]] ? N : K;
type SchemaOf<F> = F extends { read: infer S extends v.GenericSchema }
  ? S
  : F extends v.GenericSchema
    ? F
    : never;
type IsOptional<F> = FormOf<F> extends { isOptional: true } ? true : false;
type IsHidden<F> = FormOf<F> extends { isHidden: true } ? true : false;
type ValueOf<F> = Exclude<v.InferOutput<SchemaOf<FormOf<F>>>, undefined>;
type StoredOf<F> = Exclude<v.InferInput<SchemaOf<FormOf<F>>>, undefined>;
type Flat<T> = { [K in keyof T]: T[K] };

/** The record with these fields. */
export type RecordOf<F> = Flat<
  { [K in keyof F as IsOptional<F[K]> extends true ? never : K]: ValueOf<F[K]> } & {
    [K in keyof F as IsOptional<F[K]> extends true ? K : never]?: ValueOf<F[K]>;
  }
>;

/** The schemas of what people see of it, by stored name. */
export type ShownEntries<F> = {
  -readonly [K in keyof F as IsHidden<F[K]> extends true ? never : NameOf<F[K], K>]: IsOptional<
    F[K]
  > extends true
    ? v.ExactOptionalSchema<v.GenericSchema<StoredOf<F[K]>>, undefined>
    : v.GenericSchema<StoredOf<F[K]>>;
};
/** What is stored of it. */
type StoredRecord<F> = Flat<
  { [K in keyof F as IsOptional<F[K]> extends true ? never : NameOf<F[K], K>]: StoredOf<F[K]> } & {
    [K in keyof F as IsOptional<F[K]> extends true ? NameOf<F[K], K> : never]?: StoredOf<F[K]>;
  }
>;
type Visible<F> = { [K in keyof F as IsHidden<F[K]> extends true ? never : K]: F[K] };
/** What people see of it. */
export type ShownOf<F> = StoredRecord<Visible<F>>;

/** What follows from the declaration of a record. It is a kind itself, for a record inside another one. */
export interface Codec<F extends Fields = Fields> extends Kind {
  readonly read: v.GenericSchema<StoredRecord<F>, RecordOf<F>>;
  readonly write: (value: RecordOf<F>) => Record<string, Plain>;
  /** The checks of what is stored, by stored name. */
  readonly entries: v.ObjectEntries;
  /** Checks what was decoded, and has these fields as well. @throws as `decode` does */
  readonly check: (more: v.ObjectEntries) => (map: unknown) => Readonly<Record<string, unknown>>;
  /** The record of what was checked. */
  readonly fromStored: (found: Readonly<Record<string, unknown>>) => RecordOf<F>;
  readonly shownEntries: ShownEntries<F>;
  readonly show: (value: RecordOf<F>) => ShownOf<F>;
  readonly encode: (value: RecordOf<F>) => Uint8Array;
  /** @throws SvcError `internal` naming the field, or what `malformed` makes */
  readonly decode: (bytes: Uint8Array) => RecordOf<F>;
  /** The same; `undefined` for what is malformed. */
  readonly decodeOrNothing: (bytes: Uint8Array) => RecordOf<F> | undefined;
  /** Reads what was decoded already. @throws as `decode` does */
  readonly parse: (map: unknown) => RecordOf<F>;
}

export interface RecordOptions {
  /** The version of its form, which is stored first, as `v`. */
  version?: number;
  /** Fields that are not declared are ignored; otherwise they are refused. */
  isOpen?: boolean;
  /** Of a message with it, where others send such messages. */
  limits?: DecodeLimits;
  /** The error for a field that is malformed. */
  malformed?(field: string, problem: string, kind: v.BaseIssue<unknown>["kind"]): Error;
}

/** @param name what it is, for errors: `token` */
export function record<const F extends Fields>(
  name: string,
  fields: F,
  options: RecordOptions = {},
): Codec<F> {
  const { version, isOpen = false } = options;
  const list = Object.entries(fields).map(([key, field]) => normal(key, field));
  const entries: v.ObjectEntries = {
    ...(version === undefined ? {} : { v: v.literal(version) }),
    ...Object.fromEntries(
      list.map(({ stored, kind }) => [stored, kind.isOptional ? v.optional(kind.read) : kind.read]),
    ),
  };
  const shown = list.filter(({ kind }) => kind.isHidden !== true);
  const isSame = version === undefined && list.every(({ key, stored }) => key === stored);
  const fromStored = (found: Readonly<Record<string, unknown>>) => {
    if (isSame) return found as RecordOf<F>;
    const value: Record<string, unknown> = {};
    for (const { key, stored } of list) {
      const field = found[stored];
      if (field !== undefined) value[key] = field;
    }
    return value as RecordOf<F>;
  };
  const writer = (written: readonly Normal[], first: object) => (value: object) => {
    const map: Record<string, unknown> = { ...first };
    for (const { key, stored, write } of written) {
      const field = (value as Record<string, unknown>)[key];
      if (field !== undefined) map[stored] = write === undefined ? field : write(field as never);
    }
    return map;
  };
  const write = writer(list, version === undefined ? {} : { v: version }) as Codec<F>["write"];
  const { malformed = malformedRecord(name) } = options;
  const objectOf = (all: v.ObjectEntries) => (isOpen ? v.object(all) : v.strictObject(all));
  const check = (more: v.ObjectEntries) => {
    const schema = objectOf({ ...entries, ...more });
    return (map: unknown) => {
      // A schema of an object takes lists and bytes as well.
      if (!isMap(map)) throw malformed("(root)", "must be a map", "schema");
      const parsed = v.safeParse(schema, map);
      if (parsed.success) return parsed.output;
      const [issue] = parsed.issues;
      throw malformed(v.getDotPath(issue) ?? "(root)", issue.message, issue.kind);
    };
  };
  const checked = check({});
  const parse = (map: unknown) => fromStored(checked(map));
  const decodeWhole = (bytes: Uint8Array) => parse(decode(bytes, options.limits));
  const shownEntries = Object.fromEntries(shown.map(shownEntry));
  return {
    entries,
    check,
    fromStored,
    write,
    parse,
    read: (isSame
      ? objectOf(entries)
      : v.pipe(objectOf(entries), v.transform(fromStored))) as Codec<F>["read"],
    shown: v.object(shownEntries),
    shownEntries: shownEntries as ShownEntries<F>,
    show: writer(shown, {}) as unknown as Codec<F>["show"],
    encode: (value) => encode(write(value)),
    decode: decodeWhole,
    decodeOrNothing(bytes) {
      return attempt(() => decodeWhole(bytes));
    },
  };
}

/** Some of the fields of a record. */
export function someOf<F extends Fields, const K extends readonly (keyof F)[]>(
  fields: F,
  names: K,
): Pick<F, K[number]> {
  return Object.fromEntries(names.map((name) => [name, fields[name]])) as Pick<F, K[number]>;
}

interface Normal {
  key: string;
  stored: string;
  kind: Kind;
  write: Kind["write"];
  description: string | undefined;
}

function normal(key: string, field: Fields[string]): Normal {
  const [stored, form, description] = Array.isArray(field) ? field : [key, field as Form, undefined];
  const kind: Kind = "read" in form ? form : { read: form };
  return { key, stored, kind, write: kind.write, description };
}

function shownEntry({ stored, kind, description }: Normal): [string, v.GenericSchema] {
  const { shown = kind.read } = kind;
  const described = description === undefined ? shown : v.pipe(shown, v.description(description));
  return [stored, kind.isOptional ? v.exactOptional(described) : described];
}

const malformedRecord = (name: string) => (field: string, problem: string) =>
  new SvcError("internal", `a stored ${name} is malformed at ${field}: ${problem}`);
