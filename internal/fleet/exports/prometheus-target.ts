import { isIPv6 } from "node:net";
import * as v from "valibot";
import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { described, titled } from "../../base/schema.ts";
import type { InventoryPeel } from "./inventory-peel.ts";

/** A group of targets with one peel, as the service discovery of Prometheus over HTTP reads it. */
export const prometheusTarget = titled(
  "PrometheusTarget",
  v.object({
    targets: described(v.array(v.string()), "One `<address>:<port>`"),
    labels: described(v.record(v.string(), v.string()), "Labels by name"),
  }),
);
export type PrometheusTarget = v.InferOutput<typeof prometheusTarget>;

/** A peel writes its facts itself. */
const maxValue = 128;

/** The target of a peel. Without a known address its id is the name of the host. */
export function prometheusTargetOf(peel: InventoryPeel, port: number): PrometheusTarget {
  const { peel_id, labels, facts } = peel;
  const id = displayPeelId(peel_id);
  const { address = id } = peel;
  const host = isIPv6(address) ? `[${address}]` : address;
  return {
    targets: [`${host}:${port}`],
    labels: {
      __meta_svc_peel: id,
      ...metaLabels("fact", facts),
      ...metaLabels("label", labels),
    },
  };
}

/** The name of a label: what Prometheus does not accept in one becomes `_`. */
export const labelNameOf = (name: string): string => name.replace(/[^A-Za-z0-9_]/g, "_");

/**
 * Labels from named values. Of names that become the same, the one that needs no change counts, and otherwise the
 * first in order: the answer depends on nothing else.
 */
function metaLabels(kind: "fact" | "label", values: Readonly<Record<string, Plain>>): Record<string, string> {
  const made: Record<string, string> = {};
  const isExact = (name: string) => labelNameOf(name) === name;
  const names = Object.keys(values).sort(
    (a, b) => Number(isExact(b)) - Number(isExact(a)) || (a < b ? -1 : 1),
  );
  for (const name of names) {
    const label = `__meta_svc_${kind}_${labelNameOf(name)}`;
    const text = labelValueOf(values[name] ?? null);
    if (text !== undefined && !Object.hasOwn(made, label)) made[label] = text;
  }
  return made;
}

/**
 * The text of a value, without control characters: a list is `,a,b,`, as in other service discoveries of Prometheus,
 * so that a pattern can look for one item. A map has none.
 */
export function labelValueOf(value: Plain): string | undefined {
  if (Array.isArray(value)) {
    const items = value.flatMap((item) => (isScalar(item) ? [clean(String(item))] : []));
    let text = ",";
    for (const item of items) {
      // A part of an item would match what the peel does not have.
      if (text.length + item.length + 1 > maxValue) break;
      text += `${item},`;
    }
    return items.length === 0 ? undefined : text;
  }
  return isScalar(value) ? cut(clean(String(value))) : undefined;
}

const isScalar = (value: Plain) => ["string", "number", "boolean"].includes(typeof value);
const clean = (text: string) => text.toWellFormed().replace(/\p{Cc}/gu, "\uFFFD");
/** A cut can leave half of a surrogate pair. */
const cut = (text: string) => text.slice(0, maxValue).toWellFormed();
