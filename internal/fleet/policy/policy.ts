import type { IpNetwork } from "../../base/names/ip-network.ts";
import type { TextPosition } from "../../base/place.ts";
import type { EvidenceType } from "../../identity/evidence/mod.ts";
import type { Decide } from "../enrollment/joining/mod.ts";
import type { Labels } from "../enrollment/record/mod.ts";

/** What a rule asks of a host: everything that is present must hold. */
export interface Match {
  /** Globs on the peel id; one must match. */
  readonly peel?: readonly string[];
  /** Ranges of the address that the host asks from, each as it is written. One must contain it. */
  readonly address?: readonly { readonly text: string; readonly network: IpNetwork }[];
  /** `ok`: the host trusted the root of this fleet; `unknown`: it did not say. */
  readonly trust?: "ok" | "unknown";
  readonly evidence?: {
    /** One of these kinds. */
    readonly types: readonly EvidenceType[];
    /** Globs on its fields, by name; all must match. */
    readonly fields: Readonly<Record<string, string>>;
  };
}

/** A program that decides. */
export interface Program {
  readonly argv: readonly [string, ...string[]];
  readonly timeoutMs: number;
}

/** A webhook that decides. */
export interface Webhook {
  readonly url: string;
  /** File of the key of the signature, read for each call. */
  readonly secretFile: string;
  /** File of the only CAs that count. */
  readonly caFile?: string;
  readonly timeoutMs: number;
}

/** How a rule decides. */
export type Decider =
  | { readonly decide: Decide; readonly reason?: string }
  | { readonly program: Program }
  | { readonly webhook: Webhook };

export interface PolicyRule {
  /** Unique; `rule-<number>` for a rule without one. */
  readonly name: string;
  readonly match: Match;
  /** What the host gets; the answer of a program or webhook adds to it, and may replace values. */
  readonly labels: Labels;
  readonly decider: Decider;
  readonly at: TextPosition;
}

export interface Policy {
  /** The first one that matches decides. */
  readonly rules: readonly PolicyRule[];
  /** How many programs and webhooks run at the same time. */
  readonly workers: number;
}

export const usualWorkers = 4;

/** The policy where there is none. */
export const noPolicy: Policy = { rules: [], workers: usualWorkers };
