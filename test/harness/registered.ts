import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { formatAdministrators } from "../../internal/wire/administrators.ts";
import { encodeOperator, type OperatorRecord, signOperator } from "../../internal/wire/operator-record.ts";
import type { TestOperator } from "./operators.ts";

/** Makes operators the administrators that masters of this directory know; before they start, or while they run. */
export function listAdministrators(authDir: string, ...administrators: readonly TestOperator[]): void {
  const listed = administrators.map(({ name, key }) => ({ name, publicKey: key.publicKey }));
  writeFileSync(join(authDir, "administrators"), formatAdministrators(listed));
}

/** The record of an operator, in its first version. */
export function recordOf(who: TestOperator, more: Partial<OperatorRecord> = {}): OperatorRecord {
  return {
    name: who.name,
    publicKey: who.key.publicKey,
    roles: who.roles,
    createdAt: systemClock.now(),
    createdBy: "root",
    version: 1,
    ...more,
  };
}

/** A record with the signature of an administrator, as requests carry it. */
export function signedRecord(record: OperatorRecord, by: TestOperator): string {
  return Buffer.from(encodeOperator(signOperator(record, by.key))).toString("base64");
}
