import { decodeBase64 } from "../../base/base64.ts";
import { attempt } from "../../base/errors.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { decodeOperator, type OperatorRecord } from "../../wire/operator-record.ts";
import type { Approval } from "./record.ts";

/** What approvers must know of a request that names its object by an ID, or in a signed record. */
export interface About {
  /** Name of the peel, operator or rollout. */
  about?: string;
  /** The record of an operator that it stores. */
  operator?: OperatorRecord;
}

/** @param peelOf the encoded ID of the peel of an enrollment; `undefined` for one that is not known */
export function aboutOf(
  { operation, input }: Pick<Approval, "operation" | "input">,
  peelOf: (enrollment: string) => string | undefined,
): About {
  const { id, record, peel } = Object(input) as Readonly<Record<string, unknown>>;
  const [kind] = operation.split(".");
  if (kind === "operators" && typeof record === "string") {
    const operator = attempt(() => decodeOperator(decodeBase64(record) ?? new Uint8Array()));
    return operator === undefined ? {} : { about: operator.name, operator };
  }
  if (kind === "enrollments" && typeof peel === "string") return { about: displayPeelId(peel) };
  if (typeof id !== "string") return {};
  if (kind === "rollouts") return { about: id };
  const known = kind === "enrollments" ? peelOf(id) : undefined;
  return known === undefined ? {} : { about: displayPeelId(known) };
}
