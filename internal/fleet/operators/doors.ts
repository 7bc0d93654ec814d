import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const tag = "Operators";
const change = { method: "POST", tag, body: "required", bodyTitle: "SignedRecord" } as const;
const decided = {
  200: "The operator as it is now",
  403: "No administrator who counts signed the record",
  404: "The operator does not exist",
  409: "The record was changed meanwhile, or others depend on this operator",
  503: "It is stored; the bus has not confirmed it yet",
};

/** How operators are reached (specification of operators, section 1). */
export const operatorDoors = {
  listOperators: {
    rest: {
      ...{ method: "GET", path: "/api/v1/operators", tag, readsAll: true },
      answers: { 200: "All of them" },
    },
    bus: { subject: "svc.admin.operator.list" },
  },
  addOperator: {
    rest: {
      ...{ ...change, path: "/api/v1/operators", bodyTitle: "NewOperator", readsAll: true },
      answers: {
        201: "The operator, and what its file holds",
        403: decided[403],
        409: "The name or the key is taken, or the version is not the next one",
      },
    },
    bus: { subject: "svc.admin.operator.add" },
  },
  showOperator: {
    rest: {
      ...{ method: "GET", path: "/api/v1/operators/:name", tag, readsAll: true },
      answers: { 200: "The operator, if there is one, and the next version of its record" },
    },
    bus: { subject: "svc.admin.operator.show" },
  },
  removeOperator: {
    rest: {
      ...{ ...change, method: "DELETE", path: "/api/v1/operators/:name" },
      answers: { ...decided, 200: "It is removed" },
    },
    bus: { subject: "svc.admin.operator.remove" },
  },
  disableOperator: {
    rest: { ...change, path: "/api/v1/operators/:name/disable", answers: decided },
    bus: { subject: "svc.admin.operator.disable" },
  },
  enableOperator: {
    rest: { ...change, path: "/api/v1/operators/:name/enable", answers: decided },
    bus: { subject: "svc.admin.operator.enable" },
  },
  setOperatorRoles: {
    rest: {
      ...{ ...change, path: "/api/v1/operators/:name/roles" },
      answers: { ...decided, 200: "The operator as it is now, and what its next file holds" },
    },
    bus: { subject: "svc.admin.operator.roles" },
  },
  // Not below the operators: an operator may have any name.
  adoptionStatus: {
    rest: {
      ...{ method: "GET", path: "/api/v1/adoption", tag, readsAll: true },
      answers: { 200: "What it lacks" },
    },
    bus: { subject: "svc.admin.operator.adoption" },
  },
  whoAmI: {
    rest: { method: "GET", path: "/api/v1/whoami", tag, answers: { 200: "The caller" } },
    bus: { subject: "svc.admin.operator.whoami" },
  },
  // Not over REST: the file that it renews is that of a connection to the bus.
  renewOperator: { bus: { subject: "svc.admin.operator.renew" } },
  showAdministrators: {
    rest: {
      method: "GET",
      path: "/api/v1/administrators",
      tag,
      readsAll: true,
      answers: { 200: "All of them" },
    },
    bus: { subject: "svc.admin.operator.administrators" },
  },
  // Not over REST: what changes all administrators comes from a terminal, with the statement that they signed.
  replaceAdministrators: { bus: { subject: "svc.admin.operator.replace-administrators" } },
} as const satisfies Doors<typeof operations>;
