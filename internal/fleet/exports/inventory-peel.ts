import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { described, plainMap, titled } from "../../base/schema.ts";
import type { FactMap } from "../../tree/targets/mod.ts";
import { labelsField } from "../enrollment/record/mod.ts";
import type { Member } from "../enrollment/store/mod.ts";
import { chooseFacts } from "./choose-facts.ts";

/** A peel as inventories of other tools need it. */
export const inventoryPeel = titled(
  "InventoryPeel",
  v.object({
    peel_id: described(v.string(), "Encoded peel id"),
    address: v.exactOptional(described(v.string(), "Its address, when it is known")),
    labels: labelsField,
    facts: described(plainMap, "The chosen facts that it has"),
  }),
);
export type InventoryPeel = v.InferOutput<typeof inventoryPeel>;

/** Puts together what a master knows of a member. @param names of facts, such as `os` or `mounts:/:fstype` */
export function describePeel(
  peelId: string,
  { address, labels = {} }: Pick<Member, "address" | "labels">,
  facts: FactMap | undefined,
  names: readonly string[],
): InventoryPeel {
  return {
    peel_id: peelId,
    ...defined({ address }),
    labels,
    facts: chooseFacts(facts, names),
  };
}
