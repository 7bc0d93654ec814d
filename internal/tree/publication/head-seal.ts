import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Head } from "../../bus/storage/mod.ts";
import { acceptedBy, type KeyPair } from "../../identity/mod.ts";
import { openStatement, type SignedStatement, type Statement, signStatement } from "../files/mod.ts";

/** Signs heads, and verifies that a head was signed by a master. Each master has one. */
export interface HeadSeal {
  /** The newest verified statement. */
  readonly newest: SignedStatement | undefined;
  /** Signs a statement with a version greater than every version this master has seen. */
  sign(published: Omit<Statement, "version">): Uint8Array;
  /** @throws SvcError `forbidden` when no master signed the head, or when it is older than one seen before */
  check(head: Pick<Head, "digest" | "statement">): SignedStatement;
}

/** @param signer the command key, which all masters share; while it is replaced, a head of either key counts */
export function createHeadSeal(signer: KeyPair, clock: Pick<Clock, "now">): HeadSeal {
  let newest: SignedStatement | undefined;
  let last = 0;
  return {
    get newest() {
      return newest;
    },
    sign(published) {
      last = Math.max(clock.now(), last + 1);
      return signStatement({ ...published, version: last }, signer);
    },
    check({ digest, statement }) {
      const keys = acceptedBy(signer).map(({ publicKey }) => publicKey);
      const found = openStatement(statement, keys);
      if (found.catalog !== digest) throw new SvcError("forbidden", "the head names another catalog");
      if (found.version < (newest?.version ?? 0))
        throw new SvcError("forbidden", "the head is older than one seen before");
      newest = found;
      last = Math.max(last, found.version);
      return found;
    },
  };
}
