import { arg, tagProblem } from "../../../host/modules/mod.ts";
import { StateFailure, type StateFunction } from "../../function/mod.ts";

/** Events for the reactor of the masters. */
export const eventStates: readonly StateFunction[] = [
  {
    name: "event.send",
    doc: "Sends an event to the reactor of the masters each time it runs; usually combined with onchanges or onfail. The name is the tag, such as deploy/done.",
    args: { data: arg.map("Data of the event, by name.") },
    plan(name, { data = {} }, context) {
      const problem = tagProblem(name);
      if (problem !== undefined) throw new StateFailure(problem);
      return {
        changes: { [name]: { old: null, new: data } },
        comment: `The event ${name} would be sent`,
        async apply() {
          await context.call("event.send", { tag: name, data });
          return { comment: `The event ${name} was sent` };
        },
      };
    },
  },
];
