import { beginningOf } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { busUrlProblem } from "../../base/names/bus-url.ts";
import { isSigned, parseSuccession, type SignedSuccession } from "../../identity/succession/mod.ts";
import { pinnedRoots } from "../../identity/trust/mod.ts";

/** What a peel uses to judge a statement. */
export interface Judging {
  /** Keys that it learned over verified TLS, or from the last statement. */
  recoveryKeys: readonly string[];
  /** Serial of the last statement that it accepted; 0 without. */
  serial: number;
}

/**
 * Judges a statement that anyone may have sent.
 *
 * @throws SvcError `bad_request` or `forbidden` with the reason to refuse it
 */
export function judgeSuccession(value: unknown, { recoveryKeys, serial }: Judging): SignedSuccession {
  const statement = parseSuccession(value);
  if (!recoveryKeys.includes(statement.key)) {
    throw new SvcError(
      "forbidden",
      `its key ${beginningOf(statement.key, 56)} is not a recovery key of this peel`,
    );
  }
  if (!isSigned(statement)) throw new SvcError("forbidden", "its signature is not valid");
  if (statement.serial <= serial) {
    throw new SvcError("forbidden", `its serial ${statement.serial} is not greater than ${serial}`);
  }
  if (pinnedRoots(statement.ca_bundle_pem, [statement.fingerprint]).length === 0) {
    throw new SvcError("forbidden", "its CA does not have its fingerprint");
  }
  if (!statement.master_urls.every(isMasterUrl)) {
    throw new SvcError("forbidden", "one of its master URLs is not https://host:port");
  }
  if (statement.bus_urls.some((url) => busUrlProblem(url) !== undefined)) {
    throw new SvcError("forbidden", "one of its bus URLs is not tls://host:port");
  }
  return statement;
}

/** Also of a loopback address: the fleet may be for one host. */
function isMasterUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "https:" && url.origin === text.replace(/\/$/, "");
}
