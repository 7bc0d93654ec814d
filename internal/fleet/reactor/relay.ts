import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import {
  type Bus,
  openReply,
  type ReactorAction,
  relayedReactorSubject,
  requestReply,
} from "../../bus/mod.ts";
import { type FieldsSchema, type InputSchema, type Operation, operatorOf } from "../operation/mod.ts";

/** What an operation of the reactor needs at a master that may not be the one that reacts. */
export interface Reached<Deps> {
  /** `undefined` while another master reacts. */
  own(): Deps | undefined;
  bus: Bus;
}

const answerMs = 5_000;

/** The operation, at any master: the one that reacts does it. The rest of it is the same, so it is not copied. */
export function reached<Deps, Input extends InputSchema, Output extends FieldsSchema>(
  action: ReactorAction,
  operation: Operation<Deps, Input, Output>,
): Operation<Reached<Deps>, Input, Output> {
  const run: Operation<Reached<Deps>, Input, Output>["run"] = async ({ own, bus }, input, call) => {
    const deps = own();
    if (deps !== undefined) return operation.run(deps, input, call);
    const asked = encode({ operator: operatorOf(call), input });
    const reply = await requestReply(bus, relayedReactorSubject(action), asked, answerMs);
    if (reply !== undefined) return openReply(operation.output, reply);
    throw new SvcError(
      "unavailable",
      "no master runs the reactor: start svc-master with reactor.enabled; after one was lost another takes over within 20 s",
    );
  };
  return Object.create(operation, { run: { value: run } });
}
