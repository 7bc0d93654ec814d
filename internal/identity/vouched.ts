import * as v from "valibot";
import { attempt } from "../base/errors.ts";
import { decode, encode, type Plain } from "../base/msgpack.ts";
import type { Codec, Fields, RecordOf } from "../base/record.ts";
import { isVouched, type RecordMac } from "./record-mac.ts";

/** How masters vouch for the records of a kind. */
export interface Vouching<F extends Fields> {
  /** Separates these records from those of other kinds. */
  kind: string;
  /** The key that a record is stored under; absent where `content` has the key. */
  keyOf?(value: RecordOf<F>): string;
  /** The id under which records of a key that is being replaced are known; absent where only the key in use counts. */
  idOf?(value: RecordOf<F>): string;
  /** What the MAC covers; every field in its order unless given, `null` for an absent one. */
  content?(stored: Readonly<Record<string, Plain>>, key: string, value: RecordOf<F>): unknown;
}

/** The stored form of records that only masters can make: someone who controls the bus cannot. */
export interface Vouched<T> {
  /** @param key what it will be stored under, where that does not follow from the record */
  encode(mac: RecordMac, value: T, key?: string): Uint8Array;
  /**
   * @returns `undefined` when no master vouches for the record under this key
   * @throws SvcError when it is malformed
   */
  decode(mac: RecordMac, key: string, bytes: Uint8Array): T | undefined;
  /** The same; `undefined` also for what is malformed. */
  read(mac: RecordMac, key: string, bytes: Uint8Array): T | undefined;
}

/** A stored record as it was checked. */
type Sealed = Readonly<Record<string, Plain>> & { voucher: Uint8Array };

/** Adds the MAC of a master to a record, as its last field, `voucher`. */
export function vouched<F extends Fields>(codec: Codec<F>, vouching: Vouching<F>): Vouched<RecordOf<F>> {
  const { kind, keyOf, idOf } = vouching;
  const names = Object.keys(codec.entries);
  const { content = (stored) => names.map((name) => stored[name] ?? null) } = vouching;
  const checked = codec.check({ voucher: v.instance(Uint8Array) });
  const decodeVouched = (mac: RecordMac, key: string, bytes: Uint8Array) => {
    const map = decode(bytes);
    const value = codec.fromStored(checked(map));
    if (keyOf !== undefined && keyOf(value) !== key) return undefined;
    // What is stored is covered as it is: a record that is written another way than by a master is refused.
    const { voucher, ...stored } = map as Sealed;
    const covered = content(stored, key, value);
    return isVouched(mac, idOf?.(value), voucher, (one) => one(kind, covered)) ? value : undefined;
  };
  return {
    encode(mac, value, key = keyOf?.(value) ?? "") {
      const stored = codec.write(value);
      return encode({ ...stored, voucher: mac(kind, content(stored, key, value)) });
    },
    decode: decodeVouched,
    read(mac, key, bytes) {
      return attempt(() => decodeVouched(mac, key, bytes));
    },
  };
}
