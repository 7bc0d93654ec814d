import { toSvcError } from "../base/errors.ts";

/** Whether a master of an earlier version refused a request, as it does not know this field of it. */
export function isUnknownKey(thrown: unknown, field: string): boolean {
  const { kind, message } = toSvcError(thrown);
  return kind === "bad_request" && message.includes(`unknown key "${field}"`);
}
