import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { functionNamed } from "../../host/modules/mod.ts";
import type { OperatorCaller, Passenger } from "../operation/mod.ts";
import type { Target } from "../targeting/mod.ts";
import { type Decision, decide, isPlan, type Wanted, type Work } from "./decide.ts";
import { judgeFilter } from "./judge-filter.ts";
import { labelChangeOf, type PeelLabels } from "./label-change.ts";
import { filesOfStarted, startedBy } from "./requested-files.ts";
import type { RoleBook } from "./role.ts";

/** A stored job or rollout, as far as roles need it. */
export interface StoredWork {
  functions: readonly string[];
  /** Encoded ids. */
  peels: readonly string[];
  /** The environment of the state files that it runs, if it runs any. */
  environment?: string;
}

export interface RoleGateDeps {
  /** The roles in force. */
  book(): RoleBook;
  /** @returns sorted encoded peel ids of members @throws SvcError `bad_request`, `unavailable`, `storage` */
  resolve(target: Target): Promise<string[]>;
  /** @returns `undefined` when there is none with this id */
  jobOf(jid: string): Promise<StoredWork | undefined>;
  /** @returns `undefined` when there is none with this id */
  rolloutOf(id: string): Promise<StoredWork | undefined>;
  /** The labels of the peel of an enrollment now. @throws SvcError `storage` */
  labelsOf(enrollment: string): Promise<PeelLabels>;
  /**
   * Whether a commit, or the beginning of one, has the newest files of its environment; also where there is no such
   * environment. Called only for those who may run files of it.
   *
   * @throws SvcError `unavailable`
   */
  isNewest(environment: string, commit: string): Promise<boolean>;
  /** Names of the operators who have the role `admin` now. */
  administrators(): readonly string[];
}

/** A decision on a request. */
export type Judgement = Decision & {
  /** The peels that it is about, if it starts something on peels. */
  peels?: readonly string[];
  /** The job or rollout does not exist: the decision is whether the caller may know that. */
  isMissing?: true;
  /** Whether it starts other files than the newest of their environment; absent for what runs no files. */
  isOlder?: boolean;
  /** Decides again on a change of labels, for a peel that has these now. */
  judgeAgain?(before: Readonly<Record<string, string>>): Promise<Decision>;
};

/** The question of a request, with everything of the fleet that it depends on. */
type Question = Pick<Passenger, "scope" | "input" | "touched"> & {
  /** What was judged when the request was made: its files are fixed since. */
  isOlder?: boolean;
};

export interface RoleGate {
  /** Decides on a request of these roles without refusing it. @throws SvcError as `authorize`, but not `forbidden` */
  judge(roles: readonly string[] | undefined, question: Question): Promise<Judgement>;
  /**
   * Lets a request pass. What it starts runs on the peels that were judged, whatever happens to the fleet
   * meanwhile.
   *
   * @returns how many others must agree before it happens, and the rules that allow it
   * @throws SvcError `forbidden` naming the caller, what is missing and who has it; `bad_request` for an unknown
   *   function or a malformed target; `unavailable` or `storage` when the peels cannot be determined
   */
  authorize(
    passenger: Passenger & Pick<Question, "isOlder">,
  ): Promise<{ approvals: number; rule?: string; isOlder?: boolean }>;
}

/** The decision step of a master: what the roles of an operator allow. Rules of the reactor have none. */
export function createRoleGate(deps: RoleGateDeps): RoleGate {
  const judge: RoleGate["judge"] = async (roles, question) => {
    if (roles === undefined) {
      return { allowed: true, rule: "credentials without roles may do everything", approvals: 0 };
    }
    const book = deps.book();
    const unread = judgeFilter(book, roles, question.touched);
    if (unread !== undefined) return unread;
    const words = wordsToStop(question.scope);
    if (words?.every((scope) => decide(book, roles, { scope }).allowed)) {
      // Whatever it is about, and also while the bus cannot be read.
      return decide(book, roles, { scope: question.scope });
    }
    const wanted = await wantedOf(deps, question);
    if (wanted === "missing") {
      // It can be neither stopped nor continued; a caller who may see it learns from the operation that there is none.
      return { ...decide(book, roles, { scope: showing(question.scope) }), isMissing: true };
    }
    if (wanted === undefined) {
      const { scope } = question;
      // Without the right itself nobody learns anything about labels.
      const word = decide(book, roles, { scope });
      if (!word.allowed) return word;
      const judgeWith = async (labelsOf: RoleGateDeps["labelsOf"]): Promise<Decision | undefined> => {
        const labels = await labelChangeOf(question, labelsOf);
        return labels && decide(deps.book(), roles, { scope, labels });
      };
      const decision = await judgeWith(deps.labelsOf);
      if (decision === undefined) return word;
      return {
        ...decision,
        judgeAgain: async (labels) => (await judgeWith(async () => ({ labels, former: {} }))) ?? decision,
      };
    }
    const { target, commit, ...named } = wanted;
    const isPossible = (work: Omit<Work, "peels" | "within">) =>
      decide(book, roles, { scope: question.scope, work: { ...work, peels: [], within: () => false } });
    // Without any rule for the functions and the environment nobody learns anything about peels or commits.
    const byName = isPossible(named);
    if (!byName.allowed) return byName;
    const kind = { ...named, files: await judgeCommit(deps, question, named.files, commit) };
    const possible = isPossible(kind);
    if (!possible.allowed) return possible;
    const peels = await deps.resolve(target);
    const work = { ...kind, peels };
    const { covered, problems } = await coveredBy(deps, book, roles, kind, question.scope);
    const within = (targets: string, peel: string) => covered.get(targets)?.has(peel) ?? false;
    const decision = decide(book, roles, { scope: question.scope, work: { ...work, within } });
    const starts = work.to === "start" ? { peels, ...defined({ isOlder: work.files?.isOlder }) } : {};
    if (!decision.allowed) {
      return { ...decision, reason: [decision.reason, ...problems].join("; "), ...starts };
    }
    return { ...decision, approvals: isDryRun(question.input) ? 0 : decision.approvals, ...starts };
  };
  return {
    judge,
    async authorize(passenger) {
      const { caller } = passenger;
      // The reactor is configured on the masters, and a chunk without its binary does nothing.
      if (caller.kind !== "operator") return { approvals: 0 };
      if (caller.roles === undefined) return { approvals: 0 };
      const judgement = await judge(caller.roles, passenger);
      if (!judgement.allowed) {
        throw new SvcError("forbidden", refusal(caller, caller.roles, judgement, deps));
      }
      if (judgement.peels !== undefined) passenger.fix?.(judgement.peels);
      const { approvals, rule, isOlder, judgeAgain } = judgement;
      const roles = caller.roles;
      passenger.fixLabels?.(async (before) => {
        const again = (await judgeAgain?.(before)) ?? judgement;
        if (!again.allowed) throw new SvcError("forbidden", refusal(caller, roles, again, deps));
        if (again.approvals <= approvals) return;
        throw new SvcError("conflict", "others changed the labels, and now more must agree: ask again");
      });
      return { approvals, rule, ...defined({ isOlder }) };
    },
  };
}

const dryRun = v.object({ dry_run: v.literal(true) });
const isDryRun = (input: unknown) => v.is(dryRun, input);

/** What a request does, before its peels are known. */
type WantedWork = Pick<Work, "to" | "functions" | "files"> & { target: Target; commit?: string | undefined };

/** What a request does to peels; `undefined` for one that does nothing to any, or where that is unknown. */
async function wantedOf(
  { jobOf, rolloutOf }: RoleGateDeps,
  { scope, input, touched }: Question,
): Promise<WantedWork | "missing" | undefined> {
  if (isPlan(scope)) {
    return "peels" in touched ? { to: "start", functions: [], target: touched.peels } : undefined;
  }
  const started = startedBy({ scope, input });
  if (started !== undefined) {
    if (!("peels" in touched)) return undefined;
    const { check } = started;
    const names = [started.function, ...(check === undefined ? [] : [check.function])];
    const functions = names.map((name) => functionNamed(name).name);
    const { environment, commit } = filesOfStarted(started) ?? {};
    return { to: "start", functions, target: touched.peels, files: filesIn(environment), commit };
  }
  const isCancel = scope.kind === "jobs" && scope.action === "cancel";
  const isCommand = scope.kind === "rollouts" && ["pause", "resume", "abort"].includes(scope.action);
  if (!isCancel && !isCommand) return undefined;
  if (isCancel ? !("job" in touched) : !("rollout" in touched)) return undefined;
  const stored =
    "job" in touched
      ? await jobOf(touched.job)
      : "rollout" in touched
        ? await rolloutOf(touched.rollout)
        : undefined;
  if (stored === undefined) return "missing";
  const to = scope.action === "resume" ? "continue" : "stop";
  // Of these the resolver leaves out those that have left the fleet since, which no role covers.
  const files = filesIn(stored.environment);
  return { to, functions: stored.functions.map(ownName), target: { peels: stored.peels }, files };
}

const filesIn = (environment: string | undefined): Work["files"] =>
  environment === undefined ? undefined : { environment, isOlder: false };

/** Whether the files that a request means are the newest. */
async function judgeCommit(
  { isNewest }: Pick<RoleGateDeps, "isNewest">,
  { isOlder }: Question,
  files: Work["files"],
  commit: string | undefined,
): Promise<Work["files"]> {
  if (files === undefined) return undefined;
  const { environment } = files;
  return {
    environment,
    isOlder: isOlder ?? (commit !== undefined && !(await isNewest(environment, commit))),
  };
}

/** A stored function may be one of another version. */
function ownName(name: string): string {
  return attempt(() => functionNamed(name).name, name);
}

/** The words that together allow to stop all work of this kind. */
function wordsToStop(scope: Wanted["scope"]): readonly Wanted["scope"][] | undefined {
  const cancel = { kind: "jobs", action: "cancel" } as const;
  if (scope.kind === "jobs" && scope.action === "cancel") return [cancel];
  const isStop = scope.kind === "rollouts" && (scope.action === "pause" || scope.action === "abort");
  return isStop ? [scope, cancel] : undefined;
}

const showing = ({ kind }: Wanted["scope"]): Wanted["scope"] =>
  kind === "rollouts" ? { kind, action: "show" } : { kind: "jobs", action: "show" };

/** The peels that each target expression of the rules in question means now. */
async function coveredBy(
  { resolve }: RoleGateDeps,
  book: RoleBook,
  roles: readonly string[],
  { functions }: Pick<Work, "functions">,
  scope: Wanted["scope"],
): Promise<{ covered: ReadonlyMap<string, ReadonlySet<string>>; problems: readonly string[] }> {
  const covered = new Map<string, ReadonlySet<string>>();
  const problems: string[] = [];
  const found = roles.flatMap((name) => book.get(name) ?? []);
  const rules = isPlan(scope)
    ? found.flatMap(({ grants }) =>
        grants.flatMap(({ kind, action, targets = "*", rule }) =>
          isPlan({ kind, action } as Wanted["scope"]) ? [{ targets, rule }] : [],
        ),
      )
    : found.flatMap(({ jobs }) => jobs.filter((rule) => functions.some((name) => rule.functions.has(name))));
  for (const { targets, rule } of rules) {
    if (targets === "*" || covered.has(targets)) continue;
    try {
      covered.set(targets, new Set(await resolve({ expression: targets })));
    } catch (thrown) {
      // A rule whose peels nobody can tell covers none; another rule may.
      if (!(thrown instanceof SvcError) || thrown.kind !== "bad_request") throw thrown;
      covered.set(targets, new Set());
      problems.push(`${rule}: ${thrown.message}`);
    }
  }
  return { covered, problems };
}

/** One line on a refusal: the caller, what is missing, and who has it. */
function refusal(
  { name }: Pick<OperatorCaller, "name">,
  roles: readonly string[],
  { reason, holders }: Extract<Decision, { allowed: false }>,
  deps: Pick<RoleGateDeps, "book" | "administrators">,
): string {
  const book = deps.book();
  const unknown = roles
    .filter((role) => !book.has(role))
    .slice(0, 3)
    .map((role) => `; this master has no role ${role}${suggestion(role, [...book.keys()])}`);
  const advice = whoCan(holders, deps.administrators());
  return `${describeCaller(name, roles)} may not do this: ${reason}${unknown.join("")}${advice}`;
}

/** The caller in a refusal: `ann (role viewer)`. */
export function describeCaller(name: string, roles: readonly string[]): string {
  const shown = roles.slice(0, 8).join(", ");
  return `${name} (${roles.length === 0 ? "no role" : `${roles.length === 1 ? "role" : "roles"} ${shown}`})`;
}

const maxAdministrators = 3;

/**
 * The end of a refusal: `; ask an operator with role admin or operator, such as root`.
 *
 * @param holders the roles that allow it
 * @param administrators names of the operators with role `admin`
 */
export function whoCan(holders: readonly string[], administrators: readonly string[]): string {
  const named = holders.includes("admin") ? administrators.slice(0, maxAdministrators) : [];
  const such = named.length === 0 ? "" : `, such as ${listed(named)}`;
  return holders.length === 0 ? "" : `; ask an operator with role ${listed(holders)}${such}`;
}

function listed(names: readonly string[]): string {
  const [last = "", ...others] = [...names].reverse();
  return others.length === 0 ? last : `${others.reverse().join(", ")} or ${last}`;
}
