import { defined } from "../../base/defined.ts";
import { SvcError, toSvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { roleOperations } from "../../fleet/roles/mod.ts";
import { filesOfCall, readCall } from "../../host/modules/mod.ts";
import { type Cli, Exit } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";

/** What an operator wants to do. */
export interface Question {
  kind: string;
  action: string;
  target?: string;
  targets?: string[];
  function?: string;
  id?: string;
  check?: { function: string };
  /** Of its state files. */
  environment?: string;
  commit?: string;
}

type Answer = Awaited<ReturnType<(typeof roleOperations.mayDo)["operation"]["run"]>>;

/**
 * Asks whether the operator may do something, and prints the answer with the rule.
 *
 * @param roles to ask for in place of those of the operator
 * @throws Exit 1 when not
 */
export async function printMayDo(
  words: readonly string[],
  roles: string[] | undefined,
  cli: Cli,
): Promise<void> {
  const question = { ...questionOf(words), ...defined({ roles }) };
  await withBus(cli, async (bus) => {
    const answer = await request(bus, roleOperations.mayDo, question);
    await cli.print(answer, () => `${answer.allowed ? "yes" : "no"}: ${explain(answer)}`);
    if (!answer.allowed) throw new Exit(1);
  });
}

/**
 * How many others must agree before the operator may do it.
 *
 * @returns 0 also where these credentials may not ask, or no master knows roles
 */
export async function approvalsFor(bus: Bus, question: Question): Promise<number> {
  try {
    const { allowed, approvals = 0 } = await request(bus, roleOperations.mayDo, question);
    return allowed ? approvals : 0;
  } catch (thrown) {
    const { kind } = toSvcError(thrown);
    if (kind === "forbidden" || kind === "unavailable") return 0;
    throw thrown;
  }
}

/**
 * Says on standard error whether the operator may do it.
 *
 * @returns whether; `undefined` when these credentials may not ask, or no master knows roles
 */
export async function sayWhether(
  bus: Bus,
  question: Question,
  cli: Pick<Cli, "say">,
): Promise<boolean | undefined> {
  try {
    const answer = await request(bus, roleOperations.mayDo, question);
    if (!answer.allowed) cli.say(`you may not do this: ${explain(answer)}`);
    else if ((answer.approvals ?? 0) > 0) cli.say(explain(answer));
    return answer.allowed;
  } catch (thrown) {
    // Credentials of operators without roles may lack this subject.
    const { kind } = toSvcError(thrown);
    if (kind === "forbidden" || kind === "unavailable") return undefined;
    throw thrown;
  }
}

function explain(answer: Answer): string {
  const { rule = "", approvals = 0, reason = "", holders = [], administrators = [] } = answer;
  if (reason !== "") {
    const such = administrators.length === 0 ? "" : `, such as ${administrators.join(" or ")}`;
    const who = holders.length === 0 ? "" : `; ask an operator with role ${holders.join(" or ")}${such}`;
    return `${reason}${who}`;
  }
  if (approvals === 0) return rule;
  return `${rule}; ${approvals === 1 ? "another operator" : `${approvals} other operators`} must agree`;
}

/** @throws SvcError `usage` */
function questionOf([first = "", ...rest]: readonly string[]): Question {
  const [second, third, fourth, ...more] = rest;
  if (first === "run" || first === "rollout") return startOf(first, rest);
  if (first === "upgrade") {
    const target = second;
    if (target === undefined || third !== undefined) {
      throw new SvcError("usage", "svc can upgrade takes a target: svc can upgrade 'web-*'");
    }
    return { ...rollout, target, function: "upgrade.apply" };
  }
  if (second === undefined || more.length > 0) {
    throw new SvcError("usage", `svc can takes a kind and an action, such as svc can enrollments approve`);
  }
  const question = { kind: first, action: second };
  if (third === undefined) return question;
  return fourth === undefined ? { ...question, id: third } : { ...question, target: third, function: fourth };
}

/** @throws SvcError `usage`, `bad_request` for arguments that the function does not have */
function startOf(kind: "run" | "rollout", [target, name, ...words]: readonly string[]): Question {
  if (target === undefined || name === undefined) {
    throw new SvcError(
      "usage",
      `svc can ${kind} takes a target and a function: svc can ${kind} '*' test.ping`,
    );
  }
  const args = words.length === 0 ? {} : readCall(name, { words, literal: [] }).args;
  return { ...(kind === "run" ? job : rollout), target, function: name, ...filesOfCall(name, args) };
}

const job = { kind: "jobs", action: "run" };
const rollout = { kind: "rollouts", action: "start" };
