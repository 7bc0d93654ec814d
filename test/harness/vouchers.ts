import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createVouchers, type Vouchers } from "../../internal/fleet/enrollment/store/vouchers.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { createRecordMac, type RecordMac } from "../../internal/identity/record-mac.ts";

/** The vouchers of the masters of a fleet, for records that a test writes to the bucket. */
export function vouchersOf(fleet: { authDir: string }): Vouchers {
  return createVouchers(macOf(fleet));
}

/** With what the masters of a fleet vouch for their records. */
export function macOf({ authDir }: { authDir: string }): RecordMac {
  return createRecordMac(keyPairFromSeed("account", readFileSync(join(authDir, "account.seed"), "utf8")));
}
