import { defineState } from "../../function/define.ts";
import { editArgs, planEdit } from "./edit.ts";
import { compileExpression, expandReplacement, flagNames } from "./expression.ts";
import { refuseBackup } from "./plan-file.ts";

export const fileReplace = defineState({
  name: "file.replace",
  doc: "What matches a regular expression in a file is replaced. What replaces it must not match in a way that changes again.",
  args: {
    pattern: {
      type: "string",
      required: true,
      doc: "The regular expression, in the spelling of Python or JavaScript.",
    },
    repl: {
      type: "string",
      required: true,
      doc: "What replaces a match, with \\1 or \\g<name> for groups of it.",
    },
    count: { type: "integer", min: 0, doc: "How many matches are replaced; 0, the default, for all." },
    flags: {
      type: "strings",
      doc: "Of IGNORECASE, MULTILINE and DOTALL; MULTILINE by default, so that ^ and $ are at every line.",
    },
    append_if_not_found: {
      type: "boolean",
      doc: "Adds a line to the end when neither pattern nor content is found.",
    },
    prepend_if_not_found: { type: "boolean", doc: "The same before the first line." },
    not_found_content: { type: "string", doc: "The line that is added; repl by default." },
    ignore_if_missing: { type: "boolean", doc: "Succeeds when there is no such file." },
    backslash_literal: { type: "boolean", doc: "Takes repl as it is, without groups." },
    ...editArgs,
  },
  refuse({ flags = [], backup, append_if_not_found, prepend_if_not_found }) {
    if (flags.some((flag) => !flagNames.includes(flag))) return `flags: expected of ${flagNames.join(", ")}`;
    if (append_if_not_found && prepend_if_not_found) {
      return "give only one of append_if_not_found, prepend_if_not_found";
    }
    return refuseBackup(backup);
  },
  plan(name, args, context) {
    const { pattern, repl, count = 0, flags = ["MULTILINE"] } = args;
    const expression = compileExpression("pattern", pattern, flags, "g");
    const addition = args.not_found_content ?? repl;
    const whenMissing = args.ignore_if_missing === true ? "ignore" : undefined;
    return planEdit({ name, whenMissing, ...args }, context, (text) => {
      let found = 0;
      const replaced = text.replace(expression, (...match) => {
        found++;
        const [whole] = match as [string];
        if (count > 0 && found > count) return whole;
        return args.backslash_literal === true ? repl : expandReplacement(repl, match);
      });
      if (found > 0) return replaced;
      if (args.append_if_not_found !== true && args.prepend_if_not_found !== true) return text;
      const line = addition.endsWith("\n") ? addition : `${addition}\n`;
      // Without the line end, so that a last line without one counts.
      if (`\n${text}\n`.includes(`\n${line}`)) return text;
      if (args.prepend_if_not_found === true) return `${line}${text}`;
      return `${text === "" || text.endsWith("\n") ? text : `${text}\n`}${line}`;
    });
  },
});
