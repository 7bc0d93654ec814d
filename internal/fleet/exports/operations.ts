import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { described } from "../../base/schema.ts";
import type { Directory } from "../enrollment/store/mod.ts";
import { operation } from "../operation/mod.ts";
import {
  type Addresses,
  checkFactNames,
  type FoundDeps,
  packedFact,
  pageOfPeels,
  peelPageFields,
  peelsOf,
  targetField,
} from "../peels/mod.ts";
import { describePeel, type InventoryPeel, inventoryPeel } from "./inventory-peel.ts";
import { labelNameOf, prometheusTarget, prometheusTargetOf } from "./prometheus-target.ts";

/** What a master answers from: all of it is in its memory. */
export interface ExportDeps extends FoundDeps {
  directory: FoundDeps["directory"] & Pick<Directory, "memberOf">;
  addresses: Pick<Addresses, "of">;
}

const scope = { kind: "facts", action: "read" } as const;

const maxFacts = 16;
const maxName = 128;
const factNames = v.pipe(
  v.array(
    v.pipe(
      v.string(),
      v.minLength(1, "must not be empty"),
      v.maxLength(maxName, `must have at most ${maxName} characters`),
    ),
  ),
  v.maxLength(maxFacts, `must be at most ${maxFacts} facts`),
);
const portText = "must be 1 to 65535";

export const listPrometheusTargets = operation({
  name: "exports.prometheus",
  kind: "read",
  summary: "List peels as targets of Prometheus",
  description:
    "The form that `http_sd_configs` reads, with one group per peel. Labels are `__meta_svc_peel`, `__meta_svc_fact_<name>` for each chosen fact, and `__meta_svc_label_<name>` for each label.",
  scope,
  input: v.strictObject({
    target: targetField,
    port: v.optional(
      v.pipe(
        v.number(portText),
        v.integer(portText),
        v.minValue(1, portText),
        v.maxValue(65_535, portText),
        v.description("Port of each target"),
      ),
      9100,
    ),
    fact: v.optional(
      described(
        factNames,
        `A fact to make a label of, such as \`os\` or \`mounts:/:fstype\`; up to ${maxFacts}`,
      ),
      [],
    ),
  }),
  output: v.object({ targets: v.array(prometheusTarget) }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  async run(deps: ExportDeps, { target, port, fact }) {
    assertDistinct(fact);
    const describe = describing(deps, fact);
    const found = await peelsOf(deps, target);
    const peels = found.flatMap((peelId) => describe(peelId) ?? []);
    assertSome(deps, fact, found);
    return { targets: peels.map((peel) => prometheusTargetOf(peel, port)) };
  },
});

export const exportInventory = operation({
  name: "exports.inventory",
  kind: "read",
  summary: "List peels with their addresses, labels and some facts",
  scope,
  input: v.strictObject({
    ...peelPageFields,
    facts: v.optional(described(factNames, "Names of facts"), []),
  }),
  output: v.object({ peels: v.array(inventoryPeel), next: v.exactOptional(v.string()) }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  async run(deps: ExportDeps, { facts, ...page }, call) {
    const { items, next } = await pageOfPeels(deps, page, call, describing(deps, facts));
    return { peels: items, ...(next === undefined ? {} : { next }) };
  },
});

/** @returns what describes a peel; `undefined` for one that left the fleet a moment ago */
function describing({ directory, addresses, index }: ExportDeps, facts: readonly string[]) {
  return (peelId: string): InventoryPeel | undefined => {
    const member = directory.memberOf(peelId);
    if (member === undefined) return undefined;
    const address = addresses.of(peelId) ?? member.address;
    return describePeel(peelId, { ...member, ...defined({ address }) }, index.factsOf(peelId), facts);
  };
}

/** A label that no target ever has is a mistake in its name. @throws SvcError `bad_request` with the nearest name */
function assertSome(
  { directory, index }: ExportDeps,
  names: readonly string[],
  found: readonly string[],
): void {
  const missing = names.filter((name) =>
    found.every((peelId) => packedFact(index.factsOf(peelId), name) === undefined),
  );
  checkFactNames(missing, directory.members(), index.factsOf);
}

/** Two facts in one label would be one of them, and nobody could say which. @throws SvcError `bad_request` */
function assertDistinct(facts: readonly string[]): void {
  const byLabel = new Map<string, string>();
  for (const fact of facts) {
    const label = labelNameOf(fact);
    const other = byLabel.get(label);
    if (other !== undefined && other !== fact) {
      throw new SvcError(
        "bad_request",
        `fact: ${JSON.stringify(other)} and ${JSON.stringify(fact)} both become the label __meta_svc_fact_${label}: choose one`,
      );
    }
    byLabel.set(label, fact);
  }
}
