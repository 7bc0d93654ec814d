import * as v from "valibot";
import { decode, encode } from "../../base/msgpack.ts";

/** The pages of the console, as the build makes them. */
export interface ConsoleBundle {
  /** The page of every address below `/console/`. */
  readonly index: string;
  readonly assets: readonly ConsoleAsset[];
}

/** A script, style or picture, whose name has its digest: it never changes. */
export interface ConsoleAsset {
  /** Its name below `/console/assets/`. */
  readonly path: string;
  /** Its media type. */
  readonly type: string;
  readonly bytes: Uint8Array;
}

const name = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const stored = v.strictObject({
  v: v.literal(1),
  index: v.string(),
  assets: v.array(
    v.strictObject({
      path: v.pipe(v.string(), v.regex(name)),
      type: v.pipe(v.string(), v.regex(/^[a-z]+\/[A-Za-z0-9.+-]+(?:; charset=utf-8)?$/)),
      bytes: v.instance(Uint8Array),
    }),
  ),
});

/** The file that a master carries. */
export function packBundle({ index, assets }: ConsoleBundle): Uint8Array {
  return encode({
    ...{ v: 1, index },
    assets: assets.map(({ path, type, bytes }) => ({ path, type, bytes })),
  });
}

/** Reads such a file. @throws Error when it is malformed */
export function readBundle(file: Uint8Array): ConsoleBundle {
  const { index, assets } = v.parse(stored, decode(file));
  return { index, assets };
}
