import { SvcError } from "../../base/errors.ts";
import { isInNetwork, parseIp, parseIpNetwork } from "../../base/names/ip-network.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { EnrollmentSummary } from "../../fleet/enrollment/record/mod.ts";
import { evidenceTypes } from "../../identity/evidence/mod.ts";
import { choice, flag, readFlag, value } from "../../program/command-line/mod.ts";
import { matchGlob } from "../../tree/targets/mod.ts";
import { yesArg } from "../confirm/confirm.ts";

/** The options that select many enrollments at once. */
export const selectionArgs = {
  all: flag("All of them"),
  match: value("glob", "Those whose peel id matches, such as web-*"),
  address: value("cidr", "Only those that asked to join from these addresses, such as 10.20.0.0/16"),
  evidence: choice(evidenceTypes, "Only those that proved this in addition to their key"),
  limit: value("n", "Maximum number of them, oldest first"),
  yes: yesArg,
} as const;

/** What the options hold. */
export interface SelectionWords {
  all?: boolean | undefined;
  match?: string | undefined;
  address?: string | undefined;
  evidence?: string | undefined;
  limit?: string | undefined;
}

/** Which of the enrollments are meant. */
export interface Selection {
  fits(one: EnrollmentSummary): boolean;
  /** Infinite without a limit. */
  limit: number;
}

/**
 * Reads the options.
 *
 * @returns `undefined` when none selects anything: then the ids are named
 * @throws SvcError `usage` naming the option
 */
export function readSelection({
  all,
  match,
  address,
  evidence,
  limit,
}: SelectionWords): Selection | undefined {
  const max = limit === undefined ? Number.POSITIVE_INFINITY : readFlag("--limit", limit, parseLimit);
  if (all !== true && match === undefined && address === undefined && evidence === undefined) {
    if (limit === undefined) return undefined;
    throw new SvcError("usage", "--limit is for --match, --address, --evidence or --all");
  }
  if (all === true && match !== undefined) {
    throw new SvcError("usage", "--all and --match exclude each other");
  }
  if (match === "") throw new SvcError("usage", "--match: names no peel; all are selected with --all");
  const network = address === undefined ? undefined : readFlag("--address", address, readNetwork);
  return {
    limit: max,
    fits(one) {
      if (match !== undefined && !matchGlob(match, displayPeelId(one.peel_id))) return false;
      if (evidence !== undefined && one.evidence !== evidence) return false;
      if (network === undefined) return true;
      const from = one.address === undefined ? undefined : parseIp(one.address);
      return from !== undefined && isInNetwork(from, network);
    },
  };
}

/** @throws SvcError `bad_request` */
function readNetwork(text: string) {
  const network = parseIpNetwork(text);
  if (network !== undefined) return network;
  throw new SvcError(
    "bad_request",
    `${JSON.stringify(text.slice(0, 60))} is not a range of addresses, such as 10.20.0.0/16; bits behind its length are zero`,
  );
}

/** @throws SvcError `bad_request` */
function parseLimit(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new SvcError("bad_request", `${JSON.stringify(text.slice(0, 40))} is not a number from 1`);
}

/** Why an enrollment is left out: what lists show as its trust. */
export type LeftOut = EnrollmentSummary["trust"];

/** What is decided on, oldest first, and what is not. */
export interface Chosen {
  chosen: EnrollmentSummary[];
  leftOut: EnrollmentSummary[];
}

/**
 * Chooses what fits. What lists mark as something that must be looked at one by one is left out, and does not count
 * against the limit; so is what is named by its id, as it is decided on anyway.
 *
 * @param listed each may stand there twice, when its state changed while it was listed
 * @param marks the trust of what is left out, and whether one of several that wait under one peel id is
 */
export function choose(
  listed: readonly EnrollmentSummary[],
  { fits, limit }: Selection,
  marks: { trust: ReadonlySet<LeftOut>; contested: boolean },
  named: ReadonlySet<string>,
): Chosen {
  const newest = new Map(listed.map((one) => [one.id, one]));
  const found = [...newest.values()].filter((one) => fits(one) && !named.has(one.id));
  found.sort((a, b) => compare(a.created_at, b.created_at) || compare(a.id, b.id));
  const isMarked = ({ trust, contested }: EnrollmentSummary) =>
    marks.trust.has(trust) || (marks.contested && contested === true);
  return { chosen: found.filter((one) => !isMarked(one)).slice(0, limit), leftOut: found.filter(isMarked) };
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
