import { tagProblem } from "../../host/modules/event.ts";
import { StateFailure, type StateFunction } from "../function/function.ts";

/** Events for the reactor of the masters. */
export const eventStates: readonly StateFunction[] = [
  {
    name: "event.send",
    doc: "Tells the reactor of the masters that something happened, each time it is run; mostly with onchanges or onfail. The name is the tag: deploy/done.",
    args: { data: { type: "map", doc: "What there is to say about it, by name." } },
    plan(name, { data = {} }, context) {
      const problem = tagProblem(name);
      if (problem !== undefined) throw new StateFailure(problem);
      return {
        changes: { [name]: { old: null, new: data } },
        comment: `The event ${name} is to be sent`,
        async apply() {
          await context.call("event.send", { tag: name, data });
          return { comment: `The event ${name} is sent` };
        },
      };
    },
  },
];
