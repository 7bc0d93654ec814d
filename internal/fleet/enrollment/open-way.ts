import type { Labels } from "./record/mod.ts";

export const wayKinds = ["token", "expected", "policy", "reactor"] as const;

/** One thing that decides about hosts now in place of a person, as an auditor sees it. */
export interface OpenWay {
  kind: (typeof wayKinds)[number];
  /** As records name it in `DecidedBy`, without the kind. */
  name: string;
  /** Which peels: globs, or how many. */
  peels: string;
  /** What it decides, or what decides: `approve`, `program /usr/local/bin/ask-cmdb`. */
  decides: string;
  /** How many hosts it can still admit; absent for any number. */
  uses?: number;
  /** When it ends, milliseconds since the Unix epoch; absent for never. */
  endsAt?: number;
  labels?: Labels;
  /** Further conditions, in words. */
  conditions?: string;
  /** Who opened it. */
  by?: string;
}

/** Reports which entries of one way in are open now. */
export type ListOpenWays = () => Promise<OpenWay[]>;
