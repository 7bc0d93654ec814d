import { SvcError } from "../../base/errors.ts";
import { identityOf } from "../roles/mod.ts";
import type { Approval, Party } from "./record.ts";

/** Who is one person. */
export interface PersonsDeps {
  /** By identity, as the roles file says now. */
  persons(): ReadonlyMap<string, string>;
  /** Who created a token of the bucket `tokens`: a registered operator, or a token of `api.tokens`. */
  creatorOf(token: string): "registered" | "file" | undefined;
}

/** How `persons` names someone; `undefined` for one that nobody can be held to. */
function identityOfParty(
  { creatorOf }: PersonsDeps,
  { identity, person, key, bearer }: Party,
): string | undefined {
  if (identity !== undefined) return identity;
  // What earlier masters stored names none; a key is that of an operator.
  if (bearer === undefined) return key === undefined ? undefined : identityOf.operator(person);
  const creator = creatorOf(bearer);
  if (creator === undefined) return undefined;
  return creator === "registered" ? identityOf.operator(person) : identityOf.file(person);
}

/** The person that someone is: their entry of `persons`, or without one what identifies them. */
function personOf(deps: PersonsDeps, party: Party): string {
  const identity = identityOfParty(deps, party);
  return (identity === undefined ? undefined : deps.persons().get(identity)) ?? party.person;
}

/** Why someone may ask but never be the second person. */
function whyAlone(deps: PersonsDeps, party: Party): string | undefined {
  const identity = identityOfParty(deps, party);
  const persons = deps.persons();
  if (persons.size > 0) {
    if (identity !== undefined && persons.has(identity)) return undefined;
    const line =
      identity === undefined ? "" : `: who edits the roles file adds ${identity} to the entry of that person`;
    return `${party.name} is in no entry of persons in the roles file, and only a known person can agree${line}`;
  }
  if (identity?.startsWith(identityOf.operator("")) === true) return undefined;
  return `${party.name} has no key of an operator, and may be the same person as the requester: who edits the roles file says which identities are one person (persons)`;
}

const isSame = (deps: PersonsDeps, one: Party, other: Party) =>
  personOf(deps, one) === personOf(deps, other) || (one.key !== undefined && one.key === other.key);

/** @throws SvcError `forbidden` */
export function assertOther(deps: PersonsDeps, { asker, agreed }: Approval, by: Party): void {
  if (isSame(deps, asker, by)) {
    throw new SvcError(
      "forbidden",
      `${personOf(deps, by)} asked for this, and another operator must agree: ask one whose role allows the same`,
    );
  }
  if (agreed.some((one) => isSame(deps, one, by))) {
    throw new SvcError("forbidden", `${personOf(deps, by)} agreed already`);
  }
  const alone = whyAlone(deps, by);
  if (alone !== undefined) throw new SvcError("forbidden", alone);
}

/** Those who are different persons now, each once, and none of them the requester. */
export function differentPersons(deps: PersonsDeps, asker: Party, agreed: readonly Party[]): Party[] {
  const counted: Party[] = [];
  for (const one of agreed) {
    if (whyAlone(deps, one) !== undefined) continue;
    if (![asker, ...counted].some((other) => isSame(deps, other, one))) counted.push(one);
  }
  return counted;
}
