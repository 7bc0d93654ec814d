import { type App, routes, useAnswer } from "../api/mod.ts";

type Types = NonNullable<(typeof routes.mayDo)["types"]>;
/** What someone is about to ask for, such as a job, or a decision on an enrollment. */
export type Question = Types["input"];

/** What a master says that will happen to it. */
export interface Outlook {
  /** How a sentence about it begins: `It runs at once`. */
  words: string;
  /** The rule for which it waits; absent when it does not. */
  rule?: string;
  /** Why it would be refused, in a sentence; absent when it would not. */
  refused?: string;
  /** Nobody has said it: it is `pending`, or a master cannot say it. */
  open?: "pending" | "unknown";
}

/** Which state files the arguments of a call name, as part of a question: masters ignore it where a call uses none. */
export function filesOf({
  saltenv,
  environment = saltenv,
  commit,
}: Readonly<Record<string, unknown>>): Pick<Question, "environment" | "commit"> {
  return {
    ...(typeof environment === "string" ? { environment } : {}),
    ...(typeof commit === "string" ? { commit } : {}),
  };
}

/** How a sentence speaks of it. */
export interface Speech {
  /** `It` */
  subject: string;
  /** `runs` */
  does: string;
  /** `run` */
  infinitive: string;
}

const running: Speech = { subject: "It", does: "runs", infinitive: "run" };

/**
 * Asks whether something would happen at once, wait for other operators, or be refused. Without an answer, the page
 * works as well: the master judges the request itself.
 */
export function useOutlook(app: App, question: Question, speech: Speech = running): Outlook {
  const { value, problem } = useAnswer(app, routes.mayDo, question);
  return outlookOf(value ?? (problem === undefined ? "pending" : "unknown"), speech);
}

/** What the answer of a master means for the person who is about to send the request. */
export function outlookOf(
  answer: Pick<Types["answer"], "allowed" | "approvals" | "rule" | "reason"> | "pending" | "unknown",
  { subject, does, infinitive }: Speech = running,
): Outlook {
  if (typeof answer === "string") return { words: `${subject} ${does}`, open: answer };
  const { allowed, approvals = 0, rule = "", reason = "" } = answer;
  if (!allowed) {
    return { words: `${subject} would ${infinitive}`, refused: `Your roles do not allow it: ${reason}.` };
  }
  if (approvals === 0) return { words: `${subject} ${does} at once` };
  const others = approvals === 1 ? "another operator agrees" : `${approvals} other operators agree`;
  return { words: `${subject} waits until ${others}, and then ${does}`, rule };
}
