import type { Plain } from "../../base/msgpack.ts";
import { type Change, compareOrders, type FoundChange, problemsOf, type Shown } from "./compare-orders.ts";
import { isKnown, type Order } from "./order.ts";
import { createViews } from "./subject.ts";
import { type Cause, causesOf, type Ground } from "./why.ts";

/** How one ordered state differs, and why. */
export type ExplainedChange = Change & { readonly why: readonly Cause[] };

/** What a change of files and settings means for one peel. */
export interface Outcome {
  readonly changes: readonly ExplainedChange[];
  /** Why it cannot be compiled. */
  readonly error?: readonly string[];
  /** What keeps it from being known. */
  readonly unknown?: readonly string[];
  /** Why it cannot be compiled now. */
  readonly errorBefore?: readonly string[];
  /** Services that a watched change restarts. */
  readonly restarts: readonly string[];
}

/** What a plan shows in place of a value that may hold a secret. */
export type Hide = (value: Plain) => Plain;

/** Compares what is ordered for a peel now with what would be ordered. */
export async function comparePeel(before: Ground, after: Ground, hide: Hide): Promise<Outcome> {
  const nothing: Outcome = { changes: [], restarts: [] };
  const [old, now] = [before.order, after.order];
  const shown = (order: Order) => problemsOf(order).map((line) => String(hide(line)));
  if (now.problems.length > 0) return { ...nothing, error: shown(now) };
  // What is unknown stays what it is where all that it rests on is equal.
  const isSame = !isKnown(now) && restsOnSame(before, after);
  if (now.unknown.length > 0) return isSame ? nothing : { ...nothing, unknown: now.unknown };
  if (old.unknown.length > 0) return { ...nothing, unknown: old.unknown };
  const found = compareOrders(old, now);
  const changes: ExplainedChange[] = [];
  for (const each of found) {
    const why = await causesOf(each, before, after);
    changes.push(hidden({ ...each.change, why }, hide));
  }
  const restarts = restartsOf(found, now);
  if (old.problems.length === 0) return { changes, restarts };
  return { changes, restarts, errorBefore: shown(old) };
}

function restsOnSame(before: Ground, after: Ground): boolean {
  const [old, now] = [before.order, after.order];
  if (old === now) return true;
  const loads = ({ files }: Order) =>
    JSON.stringify([...files].map(([path, use]) => [path, [...use.loads].sort()]).sort());
  if (loads(old) !== loads(now)) return false;
  const viewOf = createViews();
  const [one, other] = [viewOf(before.subject), viewOf(after.subject)];
  return [...old.questions, ...now.questions].every(
    (question) => one.answer(question) === other.answer(question),
  );
}

const watching: ReadonlySet<string> = new Set(["watch", "watch_any", "listen"]);

/** The services that restart when what they watch changes. */
function restartsOf(found: readonly FoundChange[], { states, targets }: Order): string[] {
  const changed = new Set(found.flatMap(({ after }) => after ?? []));
  const services = states.filter(
    ({ function: called, requisites }, at) =>
      called === "service.running" &&
      requisites.some(
        ({ kind }, index) =>
          watching.has(kind) &&
          (targets[at]?.[index] ?? []).some((target) => {
            const state = states[target];
            return state !== undefined && changed.has(state);
          }),
      ),
  );
  return [...new Set(services.map(({ name }) => name))].sort();
}

function hidden(change: ExplainedChange, hide: Hide): ExplainedChange {
  const shown = (values: Shown | undefined) => values && (hide({ ...values }) as Shown);
  const [before, after] = [shown(change.before), shown(change.after)];
  return {
    ...change,
    ...{ id: String(hide(change.id)), name: String(hide(change.name)) },
    ...(before && { before }),
    ...(after && { after }),
    why: change.why.map((cause) => ({
      ...cause,
      ...(cause.before === undefined ? {} : { before: hide(cause.before) }),
      ...(cause.after === undefined ? {} : { after: hide(cause.after) }),
    })),
  };
}
