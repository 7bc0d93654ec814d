import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { encodeFailure, encodeSuccess } from "../../bus/subjects/envelope.ts";
import { mastersQueue, relayedReactorSubject } from "../../bus/subjects/subjects.ts";
import type { FieldsSchema, InputSchema, Operation } from "../operation/mod.ts";
import { reactorOperations } from "./joined.ts";
import type { ReactorOperationDeps } from "./operations.ts";
import { relayed } from "./relayed.ts";

type AnyOperation = Operation<ReactorOperationDeps, InputSchema, FieldsSchema>;

/** Answers the other masters while this one reacts. They have judged and recorded each request. */
export function answerMasters(
  { bus, clock, log }: { bus: Pick<Bus, "serve">; clock: Pick<Clock, "monotonic">; log: Log },
  deps: ReactorOperationDeps,
): { stop(): void } {
  const answer = ({ input: schema, run }: AnyOperation, subject: string) =>
    bus.serve(relayedReactorSubject(subject), mastersQueue, async (data) => {
      try {
        const { operator, input } = relayed.decode(data);
        const caller = { kind: "operator", name: operator, door: "rest" } as const;
        const output = await run(deps, v.parse(schema, input), { caller, clock, log });
        return encodeSuccess(output as Record<string, unknown>);
      } catch (thrown) {
        return encodeFailure(thrown);
      }
    });
  const serving = Object.values(reactorOperations).map(({ operation, bus: { subject } }) =>
    answer(operation as AnyOperation, subject),
  );
  return {
    stop() {
      for (const one of serving) one.stop();
    },
  };
}
