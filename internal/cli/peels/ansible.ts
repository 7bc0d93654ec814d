import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { InventoryPeel } from "../../fleet/exports/mod.ts";

/** Facts that hosts are grouped by, and that their variables have, unless others are chosen. */
export const usualFacts: readonly string[] = [
  ...["os", "os_family", "osrelease", "oscodename", "kernel", "osarch", "virtual", "cloud"],
];

/** Longer values name no group: a peel writes its facts itself. */
const maxInGroup = 64;
const maxItems = 16;

interface Group {
  hosts: string[];
}
/** What Ansible reads from an inventory script that is called with `--list`. */
export type AnsibleInventory = {
  _meta: { hostvars: Record<string, HostVars> };
  all: { hosts: string[]; children: string[] };
} & Record<string, unknown>;
type HostVars = Record<string, unknown>;

/**
 * An inventory of Ansible: each peel is a host, and in a group for each of its labels and for each of its facts.
 * Names of facts and labels never become names of variables: those would change how Ansible connects.
 */
export function ansibleInventory(peels: readonly InventoryPeel[]): AnsibleInventory {
  const groups = new Map<string, Group>();
  for (const peel of peels) {
    for (const name of groupsOf(peel)) {
      const group = groups.get(name) ?? { hosts: [] };
      groups.set(name, group);
      group.hosts.push(displayPeelId(peel.peel_id));
    }
  }
  const names = [...groups.keys()].sort();
  return {
    _meta: {
      hostvars: Object.fromEntries(peels.map((peel) => [displayPeelId(peel.peel_id), hostVarsOf(peel)])),
    },
    all: { hosts: peels.map(({ peel_id }) => displayPeelId(peel_id)), children: names },
    ...Object.fromEntries(names.map((name) => [name, groups.get(name)])),
  };
}

/** The variables of a host: what Ansible reads with `--host`. */
export function hostVarsOf({ peel_id, address, labels, facts }: InventoryPeel): HostVars {
  return {
    ...(address === undefined ? {} : { ansible_host: address }),
    svc_peel: displayPeelId(peel_id),
    svc_peel_id: peel_id,
    svc_labels: literal(labels),
    svc_facts: literal(facts),
  };
}

/** Each name once: two values can differ only in what a name of a group cannot have. */
function groupsOf({ labels, facts }: InventoryPeel): Set<string> {
  const of = (kind: string, named: Readonly<Record<string, Plain>>) =>
    Object.entries(named).flatMap(([name, value]) =>
      textsOf(value).map((text) => `${kind}_${groupNameOf(name)}_${groupNameOf(text)}`),
    );
  return new Set([...of("label", labels), ...of("fact", facts)]);
}

/** What can be in the name of a group: letters, digits and `_`. */
const groupNameOf = (text: string) => text.replace(/[^A-Za-z0-9_]/g, "_");

/** The texts that a value names groups by: of a list each item, of a map none. */
function textsOf(value: Plain): string[] {
  const items = Array.isArray(value) ? value.slice(0, maxItems) : [value];
  return items.flatMap((item) => {
    if (typeof item === "object") return [];
    const text = String(item);
    return text === "" || text.length > maxInGroup ? [] : [text];
  });
}

/**
 * A value that Ansible shows as it is. Ansible would run a template in the text of a peel on the machine that it runs
 * on; `__ansible_unsafe` marks such a text. Keys with which JSON means something else to Ansible are left out.
 */
function literal(value: Plain): unknown {
  if (typeof value === "string") return value.includes("{") ? { __ansible_unsafe: value } : value;
  if (Array.isArray(value)) return value.map(literal);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) =>
      key.startsWith("__ansible") || key.includes("{") ? [] : [[key, literal(one)]],
    ),
  );
}
