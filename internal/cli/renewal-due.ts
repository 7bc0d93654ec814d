import { type OperatorFile, readClaims } from "../identity/mod.ts";

const renewedEveryMs = 24 * 3_600_000;

/** Whether the JWT of an operator file is older than a day. @param now milliseconds since the Unix epoch */
export function isRenewalDue({ jwt }: Pick<OperatorFile, "jwt">, now: number): boolean {
  return now >= readClaims(jwt).iat * 1000 + renewedEveryMs;
}
