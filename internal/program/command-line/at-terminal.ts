import type { Machine } from "./command.ts";
import { showWithPager } from "./pager.ts";
import { promptPerson } from "./prompt-person.ts";

/** What a program can do where a person sits at its terminal. */
export const atTerminal: Pick<Machine, "prompt" | "page"> = {
  prompt: promptPerson,
  page: (command, text) => showWithPager(command, text, process.env),
};
