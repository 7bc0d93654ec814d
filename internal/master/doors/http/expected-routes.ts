import {
  type ExpectedDeps,
  expectOperation,
  listExpected,
  unexpectOperation,
} from "../../../fleet/expected/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Enrollments" } as const;

/** The operator's routes to hosts that are expected. */
export function expectedRoutes({ bind }: HttpDoor, deps: ExpectedDeps): Route[] {
  return [
    bind(expectOperation, deps, {
      ...behindToken,
      method: "POST",
      path: "/api/v1/enroll-expected",
      id: "expectHosts",
      body: "required",
      bodyTitle: "HostsToExpect",
      show: "hosts",
      answers: {
        200: "What became of each of them",
        409: "A host is expected with another key, or too many are expected",
        503: notRead,
      },
    }),
    bind(listExpected, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/enroll-expected",
      id: "listExpected",
      page: "hosts",
      answers: { 200: "One page of them", 400: "A parameter is malformed", 503: notRead },
    }),
    bind(unexpectOperation, deps, {
      ...behindToken,
      method: "DELETE",
      path: "/api/v1/enroll-expected/:peel",
      id: "unexpectHost",
      show: "host",
      answers: {
        200: "The entry that was removed",
        404: "This peel id is not expected",
        409: "Other requests are changing it",
        503: notRead,
      },
    }),
  ];
}
