import type { ShownEvent } from "../../fleet/events/mod.ts";
import { requestWords } from "../../wire/request-words.ts";
import { type Outcome, outcomeOf } from "../kit/outcome.ts";

/** A part of a sentence: plain text, or an object of the fleet that it leads to. */
export type Part = string | { text: string; to: string };

/** What happened, for people. */
export interface EventWords {
  outcome: Outcome;
  parts: readonly Part[];
}

type Data = ShownEvent["data"];

const maxText = 160;

/** A field that is a text; empty when it is not. */
export const textOf = (data: Data, name: string): string => {
  const value = data[name];
  return typeof value === "string" ? value : "";
};
export const numberOf = (data: Data, name: string): number => {
  const value = data[name];
  return typeof value === "number" ? value : 0;
};

/** A peel, which leads to its page. */
export const peelPart = (id: string): Part => ({ text: id, to: `/peels/${id}` });

/** Says what one event is about. An event of another kind is shown by its tag and its data. */
export function wordsOf(event: ShownEvent): EventWords {
  const [service, kind = "", ...rest] = event.tag.split("/");
  const wording = service === "svc" && Object.hasOwn(words, kind) ? words[kind] : undefined;
  return wording?.(event, rest) ?? sentBy(event);
}

type Wording = (event: ShownEvent, rest: readonly string[]) => EventWords | undefined;

const words: Readonly<Record<string, Wording>> = {
  enrollment: enrollmentWords,
  peel: peelWords,
  schedule({ source, data }, [entry = ""]) {
    const outcome = textOf(data, "outcome");
    return {
      outcome: outcomeOf(outcome),
      parts: [peelPart(source), ` ran ${textOf(data, "function")} for its schedule ${entry}: ${outcome}`],
    };
  },
  rollout({ data }, [id = ""]) {
    const [status, wave, waves] = [textOf(data, "status"), numberOf(data, "wave"), numberOf(data, "waves")];
    return {
      outcome: outcomeOf(status),
      parts: [
        "The rollout of ",
        { text: textOf(data, "function"), to: `/rollouts/${id}` },
        ` is ${status}, wave ${wave} of ${waves}${by(data)}${because(data)}`,
      ],
    };
  },
  approval: approvalWords,
  bus({ data }, [what = ""]) {
    if (what !== "restarted") return undefined;
    const [master, times] = [textOf(data, "master"), numberOf(data, "restarts")];
    return {
      outcome: "failed",
      parts: [
        `The bus of the master ${master} ended and was started again, ${times === 1 ? "once" : `${times} times`} so far`,
      ],
    };
  },
  states({ data }) {
    const [first] = Array.isArray(data.problems) ? data.problems : [];
    const {
      file = "",
      line,
      reason = "",
    } = Object(first) as { file?: string; line?: number; reason?: string };
    return {
      outcome: "failed",
      parts: [
        { text: "State files", to: "/states/files" },
        ` of ${textOf(data, "environment")} do not come into force: ${file}${line === undefined ? "" : `:${line}`} ${reason}`,
      ],
    };
  },
  compliance({ source, data }) {
    const count = (name: string, word: string) =>
      numberOf(data, name) > 0 ? [`${numberOf(data, name)} ${word}`] : [];
    const counts = [
      ...[count("failed", "failed"), count("changed", "changed"), count("would_change", "would change")],
      ...[count("skipped", "skipped"), count("ok", "as described")],
    ].flat();
    const outcome: Outcome =
      numberOf(data, "failed") > 0
        ? "failed"
        : numberOf(data, "changed") + numberOf(data, "would_change") > 0
          ? "changed"
          : "ok";
    return {
      outcome,
      parts: [
        peelPart(source),
        " ran its ",
        { text: "states", to: `/peels/${source}/states` },
        `${data.test === true ? " as a test" : ""}: ${counts.join(", ") || "none"}`,
      ],
    };
  },
};

const by = (data: Data) => {
  const who = textOf(data, "by") || textOf(data, "decided_by");
  return who === "" ? "" : ` by ${who}`;
};
const because = (data: Data) => {
  const why = textOf(data, "reason");
  return why === "" ? "" : `: ${why}`;
};

function enrollmentWords(
  { source, data }: ShownEvent,
  [what = ""]: readonly string[],
): EventWords | undefined {
  const id = textOf(data, "id");
  const host: Part = id === "" ? source : { text: source, to: `/enrollments/${id}` };
  switch (what) {
    case "created":
      return { outcome: "running", parts: [host, " asks to join"] };
    case "approved":
    case "rejected":
    case "revoked":
      return {
        outcome: what === "approved" ? "ok" : "failed",
        parts: [host, ` was ${what}${by(data)}${because(data)}`],
      };
    case "issued":
      return { outcome: "running", parts: [host, " got its credentials"] };
    case "active":
      return { outcome: "ok", parts: [peelPart(source), " is a member now"] };
    case "clone":
      return { outcome: "failed", parts: ["Two hosts have the identity of ", peelPart(source)] };
    default:
      return undefined;
  }
}

function peelWords({ source, data }: ShownEvent, rest: readonly string[]): EventWords | undefined {
  switch (rest.at(-1)) {
    case "lost":
      return { outcome: "offline", parts: [peelPart(source), " fell silent"] };
    case "regained":
      return { outcome: "ok", parts: [peelPart(source), " is back"] };
    case "suspended":
      return { outcome: "timeout", parts: [peelPart(source), ` was suspended${because(data)}`] };
    case "copied":
      return {
        outcome: "failed",
        parts: ["A copy of the host of ", peelPart(source), " asked to join with a key of its own"],
      };
    default:
      return undefined;
  }
}

function approvalWords({ data }: ShownEvent, [id = ""]: readonly string[]): EventWords {
  const what = requestWords({ operation: textOf(data, "operation") }, String);
  const request: Part = { text: what, to: `/approvals/${id}` };
  const [who, state, ended] = [textOf(data, "asked_by"), textOf(data, "state"), textOf(data, "outcome")];
  if (state === "waiting") {
    const agreed = `${numberOf(data, "agreed")} of ${numberOf(data, "needs")} agreed`;
    return { outcome: "running", parts: [`${who} wants to `, request, `: ${agreed}`] };
  }
  const word = ended === "" ? state : ended;
  const outcome = { denied: "failed", expired: "timeout", failed: "failed", done: "ok" } as const;
  return {
    outcome: Object.entries(outcome).find(([name]) => name === word)?.[1] ?? "running",
    parts: [`The request of ${who} to `, request, ` is ${word}${by(data)}`],
  };
}

/** What a peel sent, or what this console does not know. */
function sentBy({ source, peel_id: peelId, tag, data }: ShownEvent): EventWords {
  const words = Object.entries(data)
    .filter(([name]) => name !== "peel_id" && name !== "peel")
    .map(([name, value]) => `${name}: ${wordOf(value)}`)
    .join(", ");
  const said = words === "" ? "" : `, ${words}`;
  const text = said.length > maxText ? `${said.slice(0, maxText)} …` : said;
  return {
    outcome: "skipped",
    parts: [peelId === undefined ? "The masters" : peelPart(source), ` sent ${tag}${text}`],
  };
}

function wordOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(wordOf).join(" ");
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, one]) => `${name} ${wordOf(one)}`)
    .join(" ");
}
