import type { Plain } from "../../base/msgpack.ts";
import { isInNetwork, parseIp } from "../../base/names/ip-network.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { matchGlob } from "../../tree/targets/mod.ts";
import type { Enrollment } from "../enrollment/record/mod.ts";
import type { Match, PolicyRule } from "./policy.ts";

/** What a policy may look at: what a master found out itself, and the peel id, which the host chooses. */
export type Applicant = Pick<Enrollment, "peelId" | "address" | "evidence" | "trustedCaSpki">;

/** The first rule that matches. */
export function ruleFor(rules: readonly PolicyRule[], applicant: Applicant): PolicyRule | undefined {
  return rules.find(({ match }) => mismatchOf(match, applicant) === undefined);
}

/** Why a rule does not match a host; `undefined` when it does. */
export function mismatchOf(match: Match, applicant: Applicant): string | undefined {
  return (
    mismatchOfPeel(match, applicant) ??
    mismatchOfAddress(match, applicant) ??
    mismatchOfTrust(match, applicant) ??
    mismatchOfEvidence(match, applicant)
  );
}

function mismatchOfPeel({ peel }: Match, { peelId }: Applicant): string | undefined {
  const shown = displayPeelId(peelId);
  if (peel === undefined || peel.some((glob) => matchGlob(glob, shown) || matchGlob(glob, peelId))) {
    return undefined;
  }
  return `the peel id ${shown} does not match ${peel.join(", ")}`;
}

function mismatchOfAddress({ address: wanted }: Match, { address }: Applicant): string | undefined {
  if (wanted === undefined) return undefined;
  const bytes = address === undefined ? undefined : parseIp(address);
  const ranges = wanted.map(({ text }) => text).join(", ");
  if (bytes === undefined) return `its address is not known; wanted is ${ranges}`;
  if (wanted.some(({ network }) => isInNetwork(bytes, network))) return undefined;
  return `the address ${address} is not in ${ranges}`;
}

function mismatchOfTrust({ trust }: Match, { trustedCaSpki }: Applicant): string | undefined {
  const actual = trustedCaSpki === undefined ? "unknown" : "ok";
  return trust === undefined || trust === actual ? undefined : `its trust is ${actual}; wanted is ${trust}`;
}

function mismatchOfEvidence({ evidence: wanted }: Match, { evidence }: Applicant): string | undefined {
  if (wanted === undefined) return undefined;
  const types = wanted.types.join(" or ");
  if (evidence === undefined) return `it has no evidence; wanted is ${types}`;
  if (!wanted.types.includes(evidence.type)) return `its evidence is ${evidence.type}; wanted is ${types}`;
  for (const [name, glob] of Object.entries(wanted.fields)) {
    const value = Object.hasOwn(evidence.fields, name) ? evidence.fields[name] : undefined;
    const texts = textsOf(value);
    if (texts.some((text) => matchGlob(glob, text))) continue;
    if (texts.length === 0) return `its evidence has no field ${name}`;
    return `the field ${name} of its evidence does not match ${glob}`;
  }
  return undefined;
}

/** A field has one value, or a list of which one must match. */
function textsOf(value: Plain | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value === "string") return [value];
  return typeof value === "number" || typeof value === "boolean" ? [String(value)] : [];
}
