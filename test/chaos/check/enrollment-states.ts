import { type Check, callsOf, isAcknowledged, type Violation } from "../history.ts";

const invariant = "one state";
const live = new Set(["pending", "approved", "issued", "active"]);

/** No enrollment is in two states: approved and rejected, different for two masters, or live twice. */
export const checkEnrollmentStates: Check = (history, final) => {
  const found: Violation[] = [];
  const begun = new Map<string, number>();
  const decided = new Map<string, Set<string>>();
  for (const call of callsOf(history, "enroll", "approve", "reject")) {
    const id = call.enrollment;
    if (id === undefined || !isAcknowledged(call)) continue;
    if (!begun.has(id)) begun.set(id, call.at);
    if (call.operation === "enroll") continue;
    decided.set(id, (decided.get(id) ?? new Set()).add(call.operation));
  }
  const report = (id: string, text: string) =>
    found.push({ invariant, at: begun.get(id) ?? 0, text: `${id} ${text}` });
  for (const [id, verbs] of decided) {
    if (verbs.size > 1) report(id, `was answered as ${[...verbs].sort().join(" and as ")}`);
  }
  const shown = new Map<string, Map<string, string[]>>();
  for (const [master, list] of Object.entries(final.enrollments)) {
    const living = new Map<string, string>();
    for (const { id, peel, state } of list) {
      const states = shown.get(id) ?? new Map<string, string[]>();
      states.set(state, [...(states.get(state) ?? []), master]);
      shown.set(id, states);
      if (!live.has(state)) continue;
      const other = living.get(peel);
      if (other !== undefined) report(id, `and ${other} are both live for ${peel} on ${master}`);
      living.set(peel, id);
    }
  }
  for (const [id, states] of shown) {
    const each = [...states].map(([state, masters]) => `${state} for ${masters.join(" and ")}`);
    if (each.length > 1) report(id, `is ${each.join(", ")}`);
  }
  return found;
};
