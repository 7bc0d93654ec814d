import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Reactor";
const queue = "svc.masters";
const nobody = "No master runs the reactor, or it does not answer";

/** How the reactor is reached. */
export const reactorDoors = {
  showReactor: {
    rest: {
      ...{ method: "GET", path: "/api/v1/reactor", tag },
      answers: { 200: "How the reactor does", 503: nobody },
    },
    bus: { subject: "svc.reactor.status", queue },
  },
  listReactorRules: {
    rest: {
      ...{ method: "GET", path: "/api/v1/reactor/rules", tag },
      answers: { 200: "The rules in force, in the order they are tried", 503: nobody },
    },
    bus: { subject: "svc.reactor.rules", queue },
  },
  resetBreakers: {
    rest: {
      ...{ method: "POST", path: "/api/v1/reactor/reset", tag, bodyTitle: "BreakersToReset" },
      answers: { 200: "The rules whose breakers were open", 404: "The rule does not exist", 503: nobody },
    },
    bus: { subject: "svc.reactor.reset", queue },
    hints: { svc: { not_found: "see svc reactor rules" } },
  },
  testEvent: {
    rest: {
      ...{ method: "POST", path: "/api/v1/reactor/test", tag, body: "required", bodyTitle: "EventToTest" },
      answers: { 200: "What would happen, and why", 400: "The event is malformed", 503: nobody },
    },
    bus: { subject: "svc.reactor.test", queue },
  },
} as const satisfies Doors<typeof operations>;
