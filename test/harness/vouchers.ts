import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createVouchers, type Vouchers } from "../../internal/fleet/enrollment/vouchers.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { createRecordMac } from "../../internal/identity/record-mac.ts";

/** The vouchers of the masters of a fleet, for records that a test writes to the bucket. */
export function vouchersOf({ authDir }: { authDir: string }): Vouchers {
  const account = keyPairFromSeed("account", readFileSync(join(authDir, "account.seed"), "utf8"));
  return createVouchers(createRecordMac(account));
}
