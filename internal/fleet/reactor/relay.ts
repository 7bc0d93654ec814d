import { SvcError } from "../../base/errors.ts";
import { type Bus, requestReply } from "../../bus/connection/mod.ts";
import { openReply } from "../../bus/subjects/envelope.ts";
import { relayedReactorSubject } from "../../bus/subjects/subjects.ts";
import { type FieldsSchema, type InputSchema, type Operation, operatorOf } from "../operation/mod.ts";
import { reactorOperations } from "./joined.ts";
import type { ReactorOperationDeps } from "./operations.ts";
import { relayed } from "./relayed.ts";

/** What an operation of the reactor needs at a master that may not be the one that reacts. */
interface Reached {
  /** `undefined` while another master reacts. */
  own(): ReactorOperationDeps | undefined;
  bus: Bus;
}
type ReachedOperation = Operation<Reached, InputSchema, FieldsSchema>;

const answerMs = 5_000;

/** The operations of the reactor, at any master: the one that reacts does them. */
export const reachedReactor = Object.fromEntries(
  Object.entries(reactorOperations).map(([id, door]) => [
    id,
    {
      ...door,
      operation: reached(
        door.operation as unknown as ReachedOperation,
        relayedReactorSubject(door.bus.subject),
      ),
    },
  ]),
) as {
  [Name in keyof typeof reactorOperations]: Omit<(typeof reactorOperations)[Name], "operation"> & {
    operation: ReachedOperation;
  };
};

/** The rest of the operation is the same, so it is not copied. */
function reached(operation: ReachedOperation, subject: string): ReachedOperation {
  const run: ReachedOperation["run"] = async ({ own, bus }, input, call) => {
    const deps = own();
    if (deps !== undefined) return operation.run(deps as never, input, call);
    const requested = relayed.encode({ operator: operatorOf(call), input: input as Record<string, unknown> });
    const reply = await requestReply(bus, subject, requested, answerMs);
    if (reply !== undefined) return openReply(operation.output, reply);
    throw new SvcError(
      "unavailable",
      "no master runs the reactor: start svc-master with reactor.enabled; after one was lost another takes over within 20 s",
    );
  };
  return Object.create(operation, { run: { value: run } });
}
