import { decodeBase64 } from "../../base/base64.ts";
import { rfc3339 } from "../../base/clock.ts";
import { attempt } from "../../base/errors.ts";
import { decodeOperator, type OperatorRecord } from "../../wire/operator-record.ts";

type Row = readonly [name: string, value: string];

/** A request, as lines for its approvers: they must see all of it. */
export function describeRequest(request: unknown): Row[] {
  const { function: called, args, check, target, targets: _, ...rest } = Object(request) as Fields;
  const operator = operatorIn(request);
  const { record: __, ...others } = rest;
  const more = Object.entries(operator === undefined ? rest : others).filter(
    ([, value]) => value !== undefined,
  );
  return [
    ...(typeof called === "string" ? [["Function", called] as const] : []),
    ...(hasFields(args) ? [["Arguments", JSON.stringify(args)] as const] : []),
    ...(check === undefined ? [] : [["Check", JSON.stringify(check)] as const]),
    ...(typeof target === "string" ? [["Target", target] as const] : []),
    ...(operator === undefined ? [] : describeOperator(operator)),
    ...(more.length === 0 ? [] : [["Request", JSON.stringify(Object.fromEntries(more))] as const]),
  ];
}

/** The record of an operator in a request; `undefined` where there is none that can be read. */
export function operatorIn(request: unknown): OperatorRecord | undefined {
  const { record } = Object(request) as Fields;
  if (typeof record !== "string") return undefined;
  return attempt(() => decodeOperator(decodeBase64(record) ?? new Uint8Array()));
}

interface Fields {
  readonly [name: string]: unknown;
}

const hasFields = (value: unknown) => Object.keys(Object(value)).length > 0;

function describeOperator({ name, roles, publicKey, disabled, expiresAt, version }: OperatorRecord): Row[] {
  return [
    ["Operator", `${name}${disabled === true ? ", disabled" : ""}, version ${version}`],
    ["Roles", roles.join(", ")],
    ["Key", publicKey],
    ["Ends", expiresAt === undefined ? "never" : rfc3339(expiresAt)],
  ];
}
