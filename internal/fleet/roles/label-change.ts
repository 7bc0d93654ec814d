import * as v from "valibot";
import { matchGlob } from "../../tree/targets/mod.ts";
import type { Scope } from "../operation/mod.ts";
import type { Grant, LabelLimits, Role } from "./role.ts";

/** What a request does to labels of peels. */
export interface LabelChange {
  /** Each name with its new value. */
  set: readonly (readonly [name: string, value: string])[];
  /** The names of those that are removed. */
  removed: readonly string[];
}

type Labels = Readonly<Record<string, string>>;

/** What differs between earlier labels and those of now. */
export function differenceOf(before: Labels, now: Labels): LabelChange {
  return {
    set: Object.entries(now).filter(([name, value]) => before[name] !== value),
    removed: Object.keys(before).filter((name) => !Object.hasOwn(now, name)),
  };
}

/** The labels of a peel. */
export interface PeelLabels {
  /** Those that it has. */
  labels: Labels;
  /** Those that it gets when it is approved, from the enrollment before it. */
  former: Labels;
}

const labels = v.record(v.string(), v.string());
const named = v.looseObject({ id: v.string(), labels });
const without = v.looseObject({ id: v.string(), drop_labels: v.literal(true) });
const ofToken = v.looseObject({ label: labels });
const ofHosts = v.looseObject({ hosts: v.array(v.looseObject({ labels: v.optional(labels, {}) })) });

const isScope = (scope: Scope, kind: Scope["kind"], action: string) =>
  scope.kind === kind && scope.action === action;

/**
 * What a request does to labels. A join token, or a host that is expected, gives its labels to the hosts that join by it.
 *
 * @param labelsOf the labels of an enrollment now
 * @returns `undefined` for one that changes none
 */
export async function labelChangeOf(
  { scope, input }: { scope: Scope; input: unknown },
  labelsOf: (enrollment: string) => Promise<PeelLabels>,
): Promise<LabelChange | undefined> {
  if (isScope(scope, "enrollments", "label") && v.is(named, input)) {
    return differenceOf((await labelsOf(input.id)).labels, input.labels);
  }
  if (isScope(scope, "enrollments", "approve") && v.is(without, input)) {
    return { set: [], removed: Object.keys((await labelsOf(input.id)).former) };
  }
  const given = isScope(scope, "join-tokens", "create") && v.is(ofToken, input) ? [input.label] : [];
  const expected =
    isScope(scope, "enrollments", "expect") && v.is(ofHosts, input) ? v.parse(ofHosts, input).hosts : [];
  const set = [...given, ...expected.map((host) => host.labels)].flatMap((one) => Object.entries(one));
  return set.length === 0 ? undefined : { set, removed: [] };
}

/** Whether a right to set labels is for this one. */
const allows = ({ labels }: Grant, name: string, value: string | undefined): boolean => {
  const globs = labels === undefined ? ["*"] : labels.get(name);
  return globs !== undefined && (value === undefined || globs.some((glob) => matchGlob(glob, value)));
};

/**
 * The rights that together allow a change, or what none of them allows, as `team=web` or `team`.
 *
 * @param roles whose rights to set labels count
 */
export function rightsToLabel(
  roles: readonly Role[],
  { set, removed }: LabelChange,
): { rights: readonly Grant[] } | { lacking: string } {
  const own = roles
    .flatMap(({ grants }) => grants)
    .filter(({ kind, action }) => kind === "enrollments" && action === "label")
    .sort((a, b) => a.approvals - b.approvals);
  const rights = new Set<Grant>();
  const changes = [...set, ...removed.map((name) => [name, undefined] as const)];
  for (const [name, value] of changes) {
    const right = own.find((one) => allows(one, name, value));
    if (right === undefined) return { lacking: value === undefined ? name : `${name}=${value}` };
    rights.add(right);
  }
  return { rights: [...rights] };
}

/** Whether one right to set labels certainly allows all that another one does. */
export function coversLabels(wider: LabelLimits | undefined, narrower: LabelLimits | undefined): boolean {
  if (wider === undefined) return true;
  if (narrower === undefined) return false;
  return [...narrower].every(([name, globs]) => {
    const allowed = wider.get(name) ?? [];
    return globs.every((glob) => allowed.includes("*") || allowed.includes(glob));
  });
}
