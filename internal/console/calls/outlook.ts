import { type App, routes, useQuery } from "../api/mod.ts";

/** What someone is about to start on peels. */
export interface Start {
  kind: "jobs" | "rollouts";
  function: string;
  /** A target expression, or encoded ids of peels. */
  on: { target: string } | { targets: readonly string[] };
  /** Of a rollout: the function that checks each wave. */
  check?: string;
}

/** What a master says that will happen to it. */
export interface Outlook {
  /** How a sentence about it begins: `It runs at once`. */
  words: string;
  /** The rule for which it waits; absent when it does not. */
  rule?: string;
  /** Why it would be refused, in a sentence; absent when it would not. */
  refused?: string;
}

/** What a master answered. */
type Answer = NonNullable<(typeof routes.mayDo)["types"]>["answer"];

/**
 * Asks whether something would start at once, wait for other operators, or be refused.
 *
 * @returns that it runs, while no master has said how
 */
export function useOutlook(app: App, start: Start): Outlook {
  const { kind, function: name, on, check } = start;
  const question = {
    ...{ kind, action: kind === "jobs" ? "run" : "start", function: name },
    ...("target" in on ? on : { targets: [...on.targets] }),
    ...(check === undefined ? {} : { check: { function: check } }),
  };
  const { value } = useQuery(app, JSON.stringify(question), (signal) =>
    app.client.call(routes.mayDo, question, signal),
  );
  return outlookOf(value);
}

/** What the answer of a master means for who is about to start it. */
export function outlookOf(
  answer: Pick<Answer, "allowed" | "approvals" | "rule" | "reason"> | undefined,
): Outlook {
  if (answer === undefined) return { words: "It runs" };
  const { allowed, approvals = 0, rule = "", reason = "" } = answer;
  if (!allowed) return { words: "It would run", refused: `Your roles do not allow it: ${reason}.` };
  if (approvals === 0) return { words: "It runs at once" };
  const others = approvals === 1 ? "another operator agrees" : `${approvals} other operators agree`;
  return { words: `It waits until ${others}, and then runs`, rule };
}
