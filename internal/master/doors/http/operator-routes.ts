import {
  addOperator,
  disableOperator,
  enableOperator,
  listOperators,
  type OperatorDeps,
  removeOperator,
  setRoles,
  showOperator,
} from "../../../fleet/operators/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const behindToken = { auth: "bearer", budget: "relaxed", tag: "Operators" } as const;
const decision = { ...behindToken, method: "POST", body: "required", bodyTitle: "SignedRecord" } as const;
const decided = {
  200: "The operator as it is now",
  403: "No administrator who counts signed the record",
  404: "The operator does not exist",
  409: "The record was changed meanwhile, or others depend on this operator",
  503: "It is stored; the bus has not confirmed it yet",
};

/** The routes to operators (specification of operators, section 1). */
export function operatorRoutes({ bind }: HttpDoor, deps: OperatorDeps): Route[] {
  return [
    bind(listOperators, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/operators",
      id: "listOperators",
      answers: { 200: "All of them", 503: notRead },
    }),
    bind(addOperator, deps, {
      ...decision,
      path: "/api/v1/operators",
      id: "addOperator",
      bodyTitle: "NewOperator",
      answers: {
        201: "The operator, and what its file holds",
        403: decided[403],
        409: "The name or the key is taken, or the version is not the next one",
        503: notRead,
      },
    }),
    bind(showOperator, deps, {
      ...behindToken,
      method: "GET",
      path: "/api/v1/operators/:name",
      id: "showOperator",
      answers: { 200: "The operator, if there is one, and the next version of its record", 503: notRead },
    }),
    bind(removeOperator, deps, {
      ...decision,
      method: "DELETE",
      path: "/api/v1/operators/:name",
      id: "removeOperator",
      answers: { ...decided, 200: "It is removed" },
    }),
    bind(disableOperator, deps, {
      ...decision,
      path: "/api/v1/operators/:name/disable",
      id: "disableOperator",
      answers: decided,
    }),
    bind(enableOperator, deps, {
      ...decision,
      path: "/api/v1/operators/:name/enable",
      id: "enableOperator",
      answers: decided,
    }),
    bind(setRoles, deps, {
      ...decision,
      path: "/api/v1/operators/:name/roles",
      id: "setOperatorRoles",
      answers: { ...decided, 200: "The operator as it is now, and what its next file holds" },
    }),
  ];
}
