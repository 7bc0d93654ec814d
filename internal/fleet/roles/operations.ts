import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { described, integer, titled } from "../../base/schema.ts";
import {
  type Call,
  operation,
  type Passenger,
  type Scope,
  type ScopeKind,
  scopes,
} from "../operation/mod.ts";
import { targetFields, targetOf } from "../targeting/mod.ts";
import type { RoleGate } from "./gate.ts";
import { judgeFilter } from "./judge-filter.ts";
import { checkRoleNames } from "./known.ts";
import { commitChoices, type LabelLimits, type Role, type RoleBook } from "./role.ts";

/** What the operations on roles need. */
export interface RoleOperationDeps {
  gate: Pick<RoleGate, "judge">;
  roles: { path: string; current(): RoleBook; problem(): string | undefined };
  /** Names of the operators who have the role `admin` now. */
  administrators(): readonly string[];
}

const shownRole = titled(
  "Role",
  v.object({
    name: v.string(),
    built_in: described(v.boolean(), "Every master has it, and no file can change it"),
    jobs: described(
      v.array(
        v.object({
          functions: described(v.array(v.string()), "Globs of function names"),
          targets: described(v.string(), "A target expression"),
          environments: described(
            v.array(v.string()),
            "Globs of the environments whose state files it may run",
          ),
          commits: described(
            v.picklist(commitChoices),
            "Whether only the newest files of an environment, or those of earlier commits too",
          ),
          approvals: described(integer, "How many others must agree"),
        }),
      ),
      "Which functions it may run on which peels",
    ),
    may: described(
      v.array(
        v.object({
          kind: v.string(),
          action: v.string(),
          approvals: described(integer, "How many others must agree"),
          labels: v.exactOptional(
            described(
              v.record(v.string(), v.array(v.string())),
              "For `enrollments label`: by name, globs of the values; absent means any label",
            ),
          ),
          targets: v.exactOptional(
            described(v.string(), "For `states plan`: the peels that a plan may be for; absent means all"),
          ),
        }),
      ),
      "What else it may do",
    ),
  }),
);

/** As in a roles file. */
const maxName = 63;

function showRole({ name, builtIn, jobs, grants }: Role): v.InferOutput<typeof shownRole> {
  return {
    name,
    built_in: builtIn,
    jobs: jobs.map(({ patterns, targets, environments, commits, approvals }) => ({
      functions: [...patterns],
      targets,
      environments: [...environments],
      commits,
      approvals,
    })),
    may: grants.map(({ kind, action, approvals, labels, targets }) => ({
      ...{ kind, action, approvals },
      ...defined({ labels: labels && showLimits(labels), targets }),
    })),
  };
}

const showLimits = (limits: LabelLimits) =>
  Object.fromEntries([...limits].map(([name, values]) => [name, [...values]]));

export const showRoles = operation({
  name: "roles.show",
  kind: "read",
  summary: "Show the roles in force on the answering master",
  scope: { kind: "roles", action: "read" },
  input: v.strictObject({
    role: v.optional(
      described(
        v.pipe(v.string(), v.maxLength(maxName, `must have at most ${maxName} characters`)),
        "Only this role",
      ),
    ),
  }),
  output: v.object({
    roles: v.array(shownRole),
    file: described(v.string(), "The roles file of the master"),
    problem: v.exactOptional(described(v.string(), "Why the file is not in force as it is now")),
  }),
  async run({ roles }: RoleOperationDeps, { role }) {
    const book = roles.current();
    if (role !== undefined) checkRoleNames(book, [role]);
    const shown = [...book.values()].filter(({ name }) => role === undefined || name === role);
    return { roles: shown.map(showRole), file: roles.path, ...defined({ problem: roles.problem() }) };
  },
});

const maxRoles = 64;
const maxAdministrators = 3;

const question = {
  kind: described(v.string(), "Kind of the request, such as `jobs`"),
  action: described(v.string(), "The action, such as `run`"),
  ...targetFields,
  function: v.optional(described(v.string(), "For `jobs run` and `rollouts start`: the function")),
  check: v.optional(described(v.strictObject({ function: v.string() }), "For `rollouts start`: its check")),
  environment: v.optional(
    described(v.string(), "For functions that use state files: their environment; `base` by default"),
  ),
  commit: v.optional(described(v.string(), "The commit of it, in hexadecimal; the newest by default")),
  roles: v.optional(
    described(
      v.pipe(
        v.array(v.string()),
        v.minLength(1, "must name a role"),
        v.maxLength(maxRoles, `must have at most ${maxRoles} names`),
      ),
      "Ask for an operator who has these roles; needs `roles read`",
    ),
  ),
  id: v.optional(
    described(v.string(), "Id of the job to cancel, or of the rollout to pause, resume or abort"),
  ),
};

export const mayDo = operation({
  name: "roles.can",
  kind: "read",
  summary: "See whether the caller may do something, and by which rule",
  scope: "self",
  input: v.strictObject(question),
  output: v.object({
    allowed: v.boolean(),
    /** The roles of the caller; absent for credentials without roles. */
    roles: v.exactOptional(v.array(v.string())),
    rule: v.exactOptional(described(v.string(), "The rules that allow it")),
    approvals: v.exactOptional(described(integer, "How many others must agree")),
    reason: v.exactOptional(described(v.string(), "Why it is refused")),
    lacking: v.exactOptional(v.string()),
    holders: v.exactOptional(described(v.array(v.string()), "Roles that allow it")),
    administrators: v.exactOptional(
      described(v.array(v.string()), "Where it is refused: some operators with the role `admin`"),
    ),
    peels: v.exactOptional(described(integer, "How many peels it would run on")),
  }),
  touches: (input) =>
    input.target === undefined && input.targets === undefined ? { fleet: true } : { peels: targetOf(input) },
  async run(deps: RoleOperationDeps, input, call) {
    const own = rolesOf(call);
    if (input.roles !== undefined) {
      await admitToOthers(deps, own, input.roles);
      if (own !== undefined) admitFilter(deps, own, input);
    }
    const roles = input.roles ?? own;
    const judged = await deps.gate.judge(roles, questionOf(input));
    const { peels, isMissing, ...decision } = judged;
    if (isMissing && decision.allowed) {
      throw new SvcError("not_found", `the ${input.kind === "jobs" ? "job" : "rollout"} does not exist`);
    }
    return {
      ...("holders" in decision
        ? {
            ...decision,
            holders: [...decision.holders],
            administrators: deps.administrators().slice(0, maxAdministrators),
          }
        : decision),
      ...defined({ roles: roles === undefined ? undefined : [...roles], peels: peels?.length }),
    };
  },
});

/** What other roles allow is for those who may read roles. @throws SvcError `forbidden`, `bad_request` */
async function admitToOthers(
  { gate, roles }: RoleOperationDeps,
  own: readonly string[] | undefined,
  names: readonly string[],
): Promise<void> {
  const reading = { scope: { kind: "roles", action: "read" }, input: {}, touched: { fleet: true } } as const;
  const { allowed } = await gate.judge(own, reading);
  if (!allowed && names.some((name) => own?.includes(name) !== true)) {
    throw new SvcError(
      "forbidden",
      "what other roles allow is shown to those with roles read: ask an operator with role admin",
    );
  }
  checkRoleNames(roles.current(), names);
}

/** How many peels others could reach with a target says what is in settings. @throws SvcError `forbidden` */
function admitFilter({ roles }: RoleOperationDeps, own: readonly string[], input: Question): void {
  const refused = judgeFilter(roles.current(), own, { peels: targetOf(input) });
  if (refused !== undefined) throw new SvcError("forbidden", `you may not do this: ${refused.reason}`);
}

function rolesOf({ caller }: Call): readonly string[] | undefined {
  return caller.kind === "operator" ? caller.roles : undefined;
}

const commands: readonly string[] = ["pause", "resume", "abort"];

type Question = v.InferOutput<typeof mayDo.input>;

/** The question that the operation itself would put to the gate. @throws SvcError `bad_request` */
function questionOf(requested: Question): Pick<Passenger, "scope" | "input" | "touched"> {
  const scope = scopeOf(requested.kind, requested.action);
  const starts =
    (scope.kind === "jobs" && scope.action === "run") ||
    (scope.kind === "rollouts" && scope.action === "start");
  if (starts) {
    if (requested.function === undefined) {
      throw new SvcError("bad_request", `${scope.kind} ${scope.action} needs a target and a function`);
    }
    const { function: name, check, environment, commit } = requested;
    const args = defined({ environment, commit });
    const input = { function: name, args, ...defined({ check: check && { ...check, args } }) };
    return { scope, input, touched: { peels: targetOf(requested) } };
  }
  const isCancel = scope.kind === "jobs" && scope.action === "cancel";
  if (isCancel || (scope.kind === "rollouts" && commands.includes(scope.action))) {
    const { id } = requested;
    if (id === undefined) throw new SvcError("bad_request", `${scope.kind} ${scope.action} needs an id`);
    return { scope, input: requested, touched: isCancel ? { job: id } : { rollout: id } };
  }
  return { scope, input: requested, touched: { fleet: true } };
}

/** @throws SvcError `bad_request` with the nearest words */
function scopeOf(kind: string, action: string): Scope {
  const kinds = Object.keys(scopes);
  const known = kinds.includes(kind) ? (scopes[kind as ScopeKind] as readonly string[]) : undefined;
  if (known === undefined) {
    const shown = JSON.stringify(kind.slice(0, 60));
    throw new SvcError(
      "bad_request",
      `unknown kind ${shown}${suggestion(kind, kinds)}; known are ${kinds.join(", ")}`,
    );
  }
  if (!known.includes(action)) {
    const shown = JSON.stringify(action.slice(0, 60));
    throw new SvcError(
      "bad_request",
      `unknown action ${shown}${suggestion(action, known)}; known for ${kind} are ${known.join(", ")}`,
    );
  }
  return { kind, action } as Scope;
}
