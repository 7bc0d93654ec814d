import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Span, Tracer } from "../../base/trace.ts";

/** Begins to send spans; `stop` sends what waits, for a limited time. */
export type BeginSpans = () => Promise<{ tracer: Tracer; stop(): Promise<void> }>;

/** The span of one command, if it wants one. */
export interface SpanOfCommand {
  span(begin: BeginSpans, parent: string | undefined): Promise<Span>;
  /**
   * Ends the span, and sends it.
   *
   * @param code the exit code
   * @param failure the kind of the error; absent when it went well
   */
  end(code: number, failure: string | undefined): Promise<void>;
}

/** @param name of the command, such as `svc job show` */
export function spanOfCommand(name: string, clock: Pick<Clock, "now">): SpanOfCommand {
  const startedAt = clock.now();
  let begun: Promise<{ root: Span; stop(): Promise<void> }> | undefined;
  return {
    async span(begin, parent) {
      begun ??= begin().then(({ tracer, stop }) => ({
        root: tracer.begin(name, { startedAt, ...defined({ parent }) }),
        stop,
      }));
      return (await begun).root;
    },
    async end(code, failure) {
      const known = await begun?.catch(() => undefined);
      if (known === undefined) return;
      known.root.set({ "svc.exit_code": code });
      known.root.end(failure);
      await known.stop();
    },
  };
}
