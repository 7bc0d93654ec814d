import { decodeBase64 } from "../../base/base64.ts";
import { rfc3339 } from "../../base/clock.ts";
import { attempt } from "../../base/errors.ts";
import { decodeOperator, type OperatorRecord } from "../../wire/operator-record.ts";
import { shown } from "./shown.ts";

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
    ...Object.entries(Object(args)).map(([name, value]): Row => [`Argument ${name}`, shown(value)]),
    ...(check === undefined ? [] : [["Check", checkWords(check)] as const]),
    ...(typeof target === "string" ? [["Target", target] as const] : []),
    ...(operator === undefined ? [] : describeOperator(operator)),
    ...more.map(([name, value]): Row => [`Request ${name}`, shown(value)]),
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

/** The function by which the waves of a rollout are judged. */
function checkWords(check: unknown): string {
  const { function: called, args, ...rest } = Object(check) as Fields;
  const named = Object.entries({ ...Object(args), ...rest }).map(
    ([name, value]) => `${name}=${shown(value)}`,
  );
  return [shown(called), ...named].join(" ");
}

/** What the record of an operator says, as lines. */
export function describeOperator({
  name,
  roles,
  publicKey,
  disabled,
  expiresAt,
  version,
}: OperatorRecord): Row[] {
  return [
    ["Operator", `${name}${disabled === true ? ", disabled" : ""}, version ${version}`],
    ["Roles", roles.join(", ")],
    ["Key", publicKey],
    ["Ends", expiresAt === undefined ? "never" : rfc3339(expiresAt)],
  ];
}
