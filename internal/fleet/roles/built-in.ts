import { type Scope, type ScopeKind, scopes } from "../operation/mod.ts";
import { type Declared, roleOf } from "./declared.ts";
import type { Role } from "./role.ts";

/** Everything of these kinds. */
const all = (kinds: readonly ScopeKind[]): Declared =>
  Object.fromEntries(
    kinds.map((kind) =>
      kind === "jobs"
        ? [kind, [{ functions: ["*"], targets: "*", environments: ["*"], commits: "any" }, "cancel"]]
        : [kind, [...(scopes[kind] as readonly Scope["action"][])]],
    ),
  );

const every = Object.keys(scopes) as ScopeKind[];
const notForOperators: readonly ScopeKind[] = ["operators", "roles", "tokens", "keys"];

/** Peels, facts, state runs and jobs, and which peels a target means. */
const reads = {
  jobs: ["list", "show"],
  enrollments: ["list", "show"],
  facts: ["read", "resolve"],
  states: ["read"],
  masters: ["read"],
  // It shows what these roles read anyway.
  console: ["use"],
} satisfies Declared;

const declared: Readonly<Record<string, Declared>> = {
  admin: all(every),
  // Secrets are for those who are given them by name.
  operator: {
    ...all(every.filter((kind) => !notForOperators.includes(kind))),
    settings: scopes.settings.filter((action) => action !== "reveal"),
    // What comes into force is for those who are given it by name.
    states: ["read", "plan"],
    cluster: ["read"],
  },
  // Approvers get an event at once for each request that waits. Events name the request without its arguments.
  approver: {
    ...{ ...reads, events: ["read"], ...all(["enrollments", "join-tokens", "approvals"]) },
    // Labels are what roles and settings choose peels by: who lets hosts in does not set them.
    enrollments: scopes.enrollments.filter((action) => action !== "label"),
  },
  viewer: reads,
  auditor: { ...reads, ...all(["audit"]) },
};

/** The roles that every master has, which a file cannot change. */
export const builtIn: ReadonlyMap<string, Role> = new Map(
  Object.entries(declared).map(([name, one]) => [name, roleOf(name, one)]),
);
