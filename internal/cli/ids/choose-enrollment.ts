import { SvcError } from "../../base/errors.ts";
import { displayPeelId, encodePeelId } from "../../base/names/peel-id.ts";
import { suggestName } from "../../base/nearest.ts";
import type { EnrollmentSummary } from "../../fleet/enrollment/record/mod.ts";
import { listOf } from "./choose.ts";

/** Which enrollments of a host a command is about. */
export interface Wanted {
  /** `pending`, for the message that there is none. */
  called: string;
  fits(one: EnrollmentSummary): boolean;
}

/** Its states, as a command that decides names them. */
export const inStates = (states: readonly EnrollmentSummary["state"][]): Wanted => ({
  called: states.join(", ").replace(/, (?=[a-z]+$)/, " or "),
  fits: ({ state }) => states.includes(state),
});

/** What can be revoked or suspended. */
export const ofMembers = inStates(["approved", "issued", "active"]);

/** Those that no master vouches for. */
export const tampered: Wanted = { called: "TAMPERED", fits: ({ trust }) => trust === "TAMPERED" };

/** Whether a text names an enrollment by its id, and not by its host: a host of this name has another name as well. */
export const isEnrollmentId = (text: string): boolean => /^enr-[0-9A-Za-z]*$/.test(text);

/**
 * The one enrollment of a host that is named. A host names itself, so that a second one of the same name is reported
 * and never chosen between.
 *
 * @param name a peel id with dots or encoded, or a host name
 * @param listed all enrollments, newest first
 * @param wanted those that the command is about; without it the one in force, or else the last one
 * @throws SvcError `not_found` for none, with what else has this name; `conflict` for several, with their list
 */
export function chooseEnrollment(
  name: string,
  listed: readonly EnrollmentSummary[],
  wanted?: Wanted,
): EnrollmentSummary {
  const encoded = encodePeelId(name).toLowerCase();
  // One whose state changed while it was listed may stand there twice.
  const newest = new Map(listed.map((one) => [one.id, one]));
  const ofName = [...newest.values()].filter(
    ({ peel_id, hostname }) =>
      peel_id.toLowerCase() === encoded || hostname.toLowerCase() === name.toLowerCase(),
  );
  const found = ofName.filter(wanted?.fits ?? isInForce);
  const [first = wanted === undefined ? ofName[0] : undefined, ...others] = found;
  if (first === undefined) throw noneOf(name, ofName, [...newest.values()], wanted);
  if (others.length === 0) return first;
  throw new SvcError(
    "conflict",
    `several enrollments are of ${name}: give the id of one. There are ${listOf(found.map(candidateOf))}`,
  );
}

const isInForce = ({ state }: EnrollmentSummary) => state !== "rejected" && state !== "revoked";

const candidateOf = ({ id, peel_id, state, fingerprint }: EnrollmentSummary) => ({
  id,
  text: `${displayPeelId(peel_id)}, ${state}, ${fingerprint}`,
});

function noneOf(
  name: string,
  ofName: readonly EnrollmentSummary[],
  listed: readonly EnrollmentSummary[],
  wanted: Wanted | undefined,
): SvcError {
  if (ofName.length > 0 && wanted !== undefined) {
    const there = listOf(ofName.map(({ id, state }) => ({ id, text: state })));
    return new SvcError("not_found", `no enrollment of ${name} is ${wanted.called}; there is ${there}`);
  }
  const hint = suggestName(name, [...new Set(listed.map(({ peel_id }) => displayPeelId(peel_id)))]);
  return new SvcError("not_found", `no enrollment of ${name}${hint}: see svc enroll list --state all`);
}
