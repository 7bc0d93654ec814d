import {
  type ReachedReactor,
  reachBreakers,
  reachRules,
  reachStatus,
  reachTest,
} from "../../../fleet/reactor/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Reactor" } as const;
const nobody = "No master runs the reactor, or it does not answer";

/** The operator's routes to the reactor, at any master. */
export function reactorRoutes({ bind }: HttpDoor, deps: ReachedReactor): Route[] {
  return [
    bind(reachStatus, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/reactor",
      id: "showReactor",
      answers: { 200: "How the reactor does", 503: nobody },
    }),
    bind(reachRules, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/reactor/rules",
      id: "listReactorRules",
      answers: { 200: "The rules in force, in the order they are tried", 503: nobody },
    }),
    bind(reachBreakers, deps, {
      ...behindToken,
      method: "POST",
      path: "/api/v1/reactor/reset",
      id: "resetBreakers",
      bodyTitle: "BreakersToReset",
      answers: { 200: "The rules whose breakers were open", 404: "The rule does not exist", 503: nobody },
    }),
    bind(reachTest, deps, {
      ...behindToken,
      method: "POST",
      path: "/api/v1/reactor/test",
      id: "testEvent",
      body: "required",
      bodyTitle: "EventToTest",
      answers: { 200: "What would happen, and why", 400: "The event is malformed", 503: nobody },
    }),
  ];
}
