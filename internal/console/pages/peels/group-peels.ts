import type { ListedPeel } from "../../api/mod.ts";

/** By what peels are summed up: the system, the version, or a label as `label:env`. */
export type By = "system" | "version" | `label:${string}`;

/** Peels that have something in common. */
export interface PeelGroup {
  /** `prod`; empty for those without the label. */
  readonly value: string;
  /** The target expression of the group; absent where it cannot name the value. */
  readonly target?: string;
  readonly peels: number;
  readonly silent: number;
  readonly failed: number;
  readonly drifted: number;
}

type Grouped = Pick<ListedPeel, "alive" | "last_run" | "os" | "version" | "labels">;

/** What these peels can be summed up by: the names of labels as they are read, in order. */
export function groupings(peels: readonly Pick<Grouped, "labels">[]): By[] {
  const names = new Set(peels.flatMap(({ labels }) => Object.keys(labels)));
  return ["system", "version", ...[...names].sort().map((name) => `label:${name}` as const)];
}

/** @param target the expression that they match; empty for all peels */
export function groupPeels(peels: readonly Grouped[], by: By, target: string): PeelGroup[] {
  const groups = new Map<string, Grouped[]>();
  for (const peel of peels) {
    const value = valueIn(peel, by);
    const group = groups.get(value);
    if (group === undefined) groups.set(value, [peel]);
    else group.push(peel);
  }
  return [...groups]
    .map(([value, those]) => {
      const term = termOf(by, value);
      const within = target === "" || term === undefined ? term : `(${target}) and ${term}`;
      const withStatus = (status: string) =>
        those.filter(({ last_run: run }) => run?.status === status).length;
      return {
        ...{ value, ...(within === undefined ? {} : { target: within }), peels: those.length },
        silent: those.filter(({ alive }) => !alive).length,
        ...{ failed: withStatus("failed"), drifted: withStatus("drifted") },
      };
    })
    .toSorted((one, other) => other.peels - one.peels || (one.value < other.value ? -1 : 1));
}

function valueIn({ os, version, labels }: Grouped, by: By): string {
  if (by === "system") return os ?? "";
  if (by === "version") return version ?? "";
  const name = by.slice("label:".length);
  return (Object.hasOwn(labels, name) ? labels[name] : undefined) ?? "";
}

const plain = /^[\w.+-]{1,64}$/;

/** A host chooses its facts itself: only what is a plain value in a target becomes one. */
function termOf(by: By, value: string): string | undefined {
  if (by === "system") {
    const [os = "", release = "", ...more] = value.split(" ");
    if (![os, release].every((one) => plain.test(one)) || more.length > 0) return undefined;
    return `G@os:${os} and G@osrelease:${release}`;
  }
  if (!plain.test(value)) return undefined;
  if (by === "version") return `G@svc_version:${value}`;
  const name = by.slice("label:".length);
  return plain.test(name) ? `T@${name}:${value}` : undefined;
}
