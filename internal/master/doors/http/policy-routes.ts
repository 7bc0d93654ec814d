import { explainWays, type PolicyOperationDeps, testPolicy } from "../../../fleet/policy/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Enrollments" } as const;

/** The operator's routes to what admits hosts. */
export function policyRoutes({ bind }: HttpDoor, deps: PolicyOperationDeps): Route[] {
  return [
    bind(explainWays, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/enroll-ways",
      id: "explainWays",
      answers: { 200: "All of them, as this master sees them", 503: notRead },
    }),
    bind(testPolicy, deps, {
      ...behindToken,
      method: "POST",
      path: "/api/v1/enroll-policy/test",
      id: "testPolicy",
      body: "required",
      bodyTitle: "Applicant",
      answers: { 200: "Which rule decides, and why" },
    }),
  ];
}
