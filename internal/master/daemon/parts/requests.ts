import type { Registry } from "../../../fleet/operators/mod.ts";
import { createNonces, createRequestJudge } from "../../../fleet/requests/mod.ts";
import type { OffersOf } from "../../../program/health/mod.ts";
import { encodeOperator } from "../../../wire/operator-record.ts";
import type { MasterDeps } from "../options.ts";
import type { Operators } from "./operators.ts";
import type { Opened } from "./storage.ts";

interface RequestsNeed {
  base: MasterDeps;
  opened: Opened;
  operators: Operators;
}

/** The judge of what operators sign. */
export const requests = {
  start({ base, opened: { storage }, operators: { registry, unsigned } }: RequestsNeed) {
    const { config, operators: given, signedReads, budgets, clock, log } = base;
    const required = config["operators.require_signed"];
    // A test gives operators of its own.
    const judging = { registry: given ?? registry, budgets, required, clock };
    const requests = createRequestJudge({
      ...judging,
      nonces: createNonces({ bucket: storage.requestNonces, clock }),
    });
    // The subject names this master, so no other one gets the same request, and its own memory is enough.
    signedReads.judge = createRequestJudge({ ...judging, nonces: createNonces({ clock }) });
    if (required) log.info("requests of operators must be signed");
    return {
      /** The roles that the signer of a request has now, or why it has none. */
      rolesOfSigner(name: string, key: string): { roles: readonly string[] } | { refused: string } {
        const judged = judging.registry.judge(name, key, clock.now());
        return "operator" in judged ? { roles: judged.operator.roles } : judged;
      },
      requests: { ...requests, onUnsigned: unsigned.note },
      /** The encoded records that prove an operator to a peel, which knows the administrators alone. */
      recordsOf(operator: string): readonly Uint8Array[] {
        const now = clock.now();
        return (
          given?.recordsOf?.(operator, now) ?? (registry.chainOf(operator, now) ?? []).map(encodeOperator)
        );
      },
      /** The same of one who released files, also of one who was disabled or removed since. */
      recordsOfSigner({ operator, key }: { operator: string; key: string }): readonly Uint8Array[] {
        const now = clock.now();
        const chain = registry.lastChainOf(operator, key, now) ?? registry.chainOf(operator, now) ?? [];
        return chain.map(encodeOperator);
      },
      /** The records of those who are disabled or removed, and what proves each. */
      disabledRecords: () => disabledRecords(registry, clock.now()),
      stop() {
        signedReads.judge = undefined;
      },
    };
  },
};

/** Most operators of a fleet are never disabled; this is what one answer has room for. */
const maxDisabled = 48;

function disabledRecords(
  { ended, lastChainOf }: Pick<Registry, "ended" | "lastChainOf">,
  at: number,
): readonly Uint8Array[] {
  // The newest ones come first: peels may not have seen them yet.
  const proven = ended().flatMap(({ name, publicKey }) => lastChainOf(name, publicKey, at) ?? []);
  return [...new Set(proven)].slice(0, maxDisabled).map(encodeOperator);
}

export type Requests = OffersOf<typeof requests>;
