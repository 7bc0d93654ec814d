import { quote } from "../../../base/cut.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { arg } from "../../../host/modules/mod.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring, NotReady } from "../not-ready.ts";
import { planSteps, type Step } from "../steps.ts";

const types = ["string", "boolean", "select", "multiselect", "password", "note", "text", "title", "error"];
/** Answers of the type password are here, for root alone: debconf-show does not print them. */
const passwordsPath = "/var/cache/debconf/passwords.dat";

interface Answer {
  question: string;
  type: string;
  value: string;
}

/** States of the answers that packages of Debian ask for. */
export const debconfStates: readonly StateFunction[] = deferring([
  defineState({
    name: "debconf.set",
    doc: "Ensures the answers to questions of a Debian package, which is the name of the state, before it is installed.",
    args: {
      data: arg.map("The answers by question: shared/accept: {type: boolean, value: true}.", {
        required: true,
      }),
    },
    refuse: ({ data }) => answersOf(data).find((each) => typeof each === "string"),
    async plan(name, { data }, context) {
      if (!/^[a-z0-9][a-z0-9+.-]*$/.test(name)) {
        throw new StateFailure(`${quote(name)} is not a name of a Debian package`);
      }
      const system = systemOf(context);
      if (!system.has("debconf-set-selections")) {
        throw new NotReady("debconf is not installed on this host: it is part of Debian and its derivatives");
      }
      const answers = answersOf(data).filter((each) => typeof each !== "string");
      const shown = await shownAnswers(system, name);
      const steps = answers.flatMap((answer): Step[] => {
        const secret = answer.type === "password";
        const now = secret
          ? passwordIn(system.read(passwordsPath) ?? "", answer.question)
          : shown.get(answer.question);
        if (now === answer.value) return [];
        return [
          {
            changes: {
              [answer.question]: secret ? "***" : { old: now ?? null, new: answer.value },
            },
            run: () => setAnswer(system, name, answer),
          },
        ];
      });
      return planSteps(steps, {
        fine: `the answers of ${name} are as requested`,
        due: `answers of ${name} would be set`,
        done: `answers of ${name} were set`,
      });
    },
  }),
]);

/** The answers of a state; a text for each one that is not valid. */
function answersOf(data: { [question: string]: Plain } = {}): (Answer | string)[] {
  return Object.entries(data).map(([question, given]) => {
    if (!/^[A-Za-z0-9][\w+.-]*(?:\/[\w+.:-]+)+$/.test(question)) {
      return `data: ${quote(question)} is not a question, such as locales/default_environment_locale`;
    }
    const { type, value } = isMap(given) ? given : {};
    if (typeof type !== "string" || !types.includes(type)) {
      return `data: ${question}: type: expected one of ${types.join(", ")}`;
    }
    const text = textOf(value);
    if (text === undefined)
      return `data: ${question}: value: expected a text of one line, a number or a boolean`;
    return { question, type, value: text };
  });
}

function textOf(value: Plain | undefined): string | undefined {
  const isText = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  const text = value === null ? "" : isText ? String(value) : undefined;
  return text === undefined || /[\n\r\0]/.test(text) ? undefined : text;
}

/** What debconf-show prints: `* question: value` when it was asked already. */
async function shownAnswers(system: System, name: string): Promise<Map<string, string>> {
  const text = await succeed(system, `show the answers of ${name}`, ["debconf-show", name], {
    outputLimit: 1024 * 1024,
  });
  return new Map(
    text.split("\n").flatMap((line) => {
      const [, question, value] = /^[* ] (\S+?):(?: (.*))?$/.exec(line) ?? [];
      return question === undefined ? [] : [[question, value ?? ""] as const];
    }),
  );
}

function passwordIn(text: string, question: string): string | undefined {
  const record = text.split("\n\n").find((each) => each.split("\n").includes(`Name: ${question}`));
  return record === undefined ? undefined : (/^Value: (.*)$/m.exec(record)?.[1] ?? "");
}

async function setAnswer(system: System, name: string, { question, type, value }: Answer): Promise<void> {
  // On standard input, because other users can read the arguments of a program.
  const { code } = await system.run(["debconf-set-selections"], {
    stdin: `${name} ${question} ${type} ${value}\n`,
  });
  // Its output can repeat the answer.
  if (code !== 0)
    throw new StateFailure(`cannot answer ${question}: debconf-set-selections exited with ${code}`);
}
