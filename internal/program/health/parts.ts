import type { Check, CheckResult } from "./check.ts";

/** A part of a daemon that has started. */
export interface Part<View> {
  /** Its checks in /readyz, by name. */
  checks?: Readonly<Record<string, Check>>;
  /** What it shows in /metrics. */
  view?: Partial<View>;
  /** Resolves when it has stopped. */
  stop(): Promise<void> | void;
}

/** What a part offers to later parts: everything of it but what the daemon does with each. */
export type Offers<Started> = Omit<Started, keyof Part<never>>;

/** What a part offers that is started by a plan of this type. */
export type OffersOf<Of extends { start(deps: never): unknown }> = Offers<Awaited<ReturnType<Of["start"]>>>;

/** How a part of a daemon starts. */
export interface Plan<Deps, Started> {
  /** Checks that are `down` until the part has started, by name, each with what it says until then. */
  waits?: Readonly<Record<string, string | (() => string)>>;
  /** Stops what it began when it fails, or when the signal of the daemon aborts. */
  start(deps: Deps): Promise<Started> | Started;
}

/** The parts of one daemon. Disposing stops those that have started, the last one first. */
export interface Parts<View> extends AsyncDisposable {
  /** The checks of the parts that have started, and what those wait for that have not. */
  checks(): Readonly<Record<string, Check>>;
  /** What the parts that have started show. */
  view(): Partial<View>;
  /** @throws what the start throws; the reason of the signal */
  start<Deps, Started extends Part<View>>(plan: Plan<Deps, Started>, deps: Deps): Promise<Offers<Started>>;
}

/**
 * Starts the parts of a daemon one after the other.
 *
 * @param plans what is going to start, for what /readyz says from the beginning
 */
export function createParts<View extends object>(
  plans: readonly Plan<never, unknown>[],
  signal: AbortSignal,
): Parts<View> {
  const stack = new AsyncDisposableStack();
  const started: Part<View>[] = [];
  const waits = Object.assign({}, ...plans.map((plan) => plan.waits)) as NonNullable<
    Plan<never, unknown>["waits"]
  >;
  const waiting = Object.entries(waits).map(([name, message]): [string, Check] => [
    name,
    (): CheckResult => ({ status: "down", message: typeof message === "string" ? message : message() }),
  ]);
  return {
    checks: () => Object.assign(Object.fromEntries(waiting), ...started.map(({ checks }) => checks)),
    view: () => Object.assign({}, ...started.map(({ view }) => view)),
    async start(plan, deps) {
      signal.throwIfAborted();
      const part = await plan.start(deps);
      stack.defer(() => part.stop());
      started.push(part);
      const { checks: _, view: __, stop: ___, ...offers } = part;
      return offers;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/**
 * Builds a part of several things. When building fails, those that were deferred are stopped, the last one
 * first; otherwise the part stops them so.
 */
export async function assemble<Built extends object>(
  build: (stack: AsyncDisposableStack) => Promise<Built> | Built,
): Promise<Built & { stop(): Promise<void> }> {
  await using building = new AsyncDisposableStack();
  const built = await build(building);
  const stack = building.move();
  return Object.assign(built, { stop: () => stack.disposeAsync() });
}
