import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { App } from "./app.ts";
import type { ApiError } from "./error.ts";
import { type Reading, startReader } from "./reader.ts";
import type { Route } from "./route.ts";

/** What a page reads, as it is known now. */
export interface Query<T> {
  /** The last one that arrived; it stays while a newer one is read, and when that fails. */
  value: T | undefined;
  /** Why it could not be read last. */
  problem: ApiError | undefined;
  /** Nothing is read. */
  off: boolean;
  /** Reads it again now. */
  reload(): void;
}

/**
 * Reads something for a page, and again when events say that it changed, when the stream of events comes back, and
 * every 15 seconds.
 *
 * @param key what is read: for another one, nothing is known yet
 * @param how a function reads all of it each time; absent means that nothing is read
 * @param on beginnings of tags of events that change it
 */
export function useQuery<T>(
  app: Pick<App, "clock" | "live">,
  key: string,
  how: Reading<T>["load"] | Reading<T> | undefined,
  on: readonly string[] = [],
): Query<T> {
  const value = useSignal<{ key: string; value: T } | undefined>(undefined);
  const problem = useSignal<ApiError | undefined>(undefined);
  const off = how === undefined;
  const latest = useRef<Reading<T>>({ load: async (signal) => Promise.reject(signal.reason) });
  if (how !== undefined) latest.current = typeof how === "function" ? { load: how } : how;
  const again = useRef(() => {});

  useEffect(() => {
    if (off) return;
    const { clock, live } = app;
    const reader = startReader<T>({
      ...{ clock, live, on },
      how: () => latest.current,
      onValue(found) {
        // What is the same is not drawn again.
        const before = value.peek();
        if (before?.key !== key || before.value !== found) value.value = { key, value: found };
        problem.value = undefined;
      },
      onProblem(found) {
        problem.value = found;
      },
    });
    again.current = reader.reload;
    return reader.end;
  }, [app, key, on.join(" "), off]);

  const known = value.value?.key === key ? value.value.value : undefined;
  return { value: known, problem: problem.value, off, reload: () => again.current() };
}

/** The same for the answer to one request. @param input absent means that nothing is read */
export const useAnswer = <Input, Answer>(
  app: Pick<App, "clock" | "live" | "client">,
  route: Route<Input, Answer>,
  input: Input | undefined,
  on: readonly string[] = [],
): Query<Answer> =>
  useQuery(
    app,
    JSON.stringify(input) ?? "",
    input === undefined ? undefined : (signal) => app.client.call(route, input, signal),
    on,
  );
