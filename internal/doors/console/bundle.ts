import * as v from "valibot";
import { record } from "../../base/record.ts";
import { blob, list, part } from "../../base/record-kinds.ts";

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
const asset = {
  path: v.pipe(v.string(), v.regex(name)),
  type: v.pipe(v.string(), v.regex(/^[a-z]+\/[A-Za-z0-9.+-]+(?:; charset=utf-8)?$/)),
  bytes: blob,
} as const;
const stored = record("console", { index: v.string(), assets: list(part(asset)) }, { version: 1 });

/** The file that a master carries; `readBundle` throws when it is malformed. */
export const packBundle: (bundle: ConsoleBundle) => Uint8Array = stored.encode;
export const readBundle: (file: Uint8Array) => ConsoleBundle = stored.decode;
