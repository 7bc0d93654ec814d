import type { Plain } from "../../base/msgpack.ts";

/** Peels for which files are compiled alike; one of them stands for all. */
export interface Kind {
  /** Of the one that stands for all, encoded. */
  peelId: string;
  /** How many there are. */
  peels: number;
  facts: Readonly<Record<string, Plain>>;
  labels: Readonly<Record<string, string>>;
  /** With random tokens in place of secrets; absent when those in force cannot be compiled for it. */
  settings?: Readonly<Record<string, Plain>>;
}

/** The kinds of a fleet. */
export interface Kinds {
  kinds: readonly Kind[];
  /** Peels of kinds that are too many, or that were not read in time. */
  left: number;
}

/** More are not compiled. */
export const maxKinds = 200;
