import { arg } from "../../../host/modules/mod.ts";
import { defineState } from "../../function/mod.ts";
import { editArgs, planEdit } from "./edit.ts";
import { compileReplacement, flagNames } from "./expression.ts";
import { refuseBackup } from "./plan-file.ts";

export const fileReplace = defineState({
  name: "file.replace",
  doc: "Replaces the matches of a regular expression in a file. The replacement must not change again when the expression is applied to the result.",
  args: {
    pattern: arg.string("The regular expression, in the syntax of Python.", { required: true }),
    repl: arg.string("The replacement; \\1 and \\g<name> stand for groups.", { required: true }),
    count: arg.integer("Maximum number of replacements; 0 replaces all, the default.", { min: 0 }),
    flags: arg.strings(
      "Any of IGNORECASE, MULTILINE, DOTALL and ASCII; MULTILINE by default, so that ^ and $ match at every line.",
    ),
    append_if_not_found: arg.boolean("Appends a line if neither the pattern nor the content is found."),
    prepend_if_not_found: arg.boolean("Inserts it before the first line instead."),
    not_found_content: arg.string("The added line; repl by default."),
    ignore_if_missing: arg.boolean("Succeeds if the file does not exist."),
    backslash_literal: arg.boolean("Uses repl literally, without groups."),
    ...editArgs,
  },
  refuse({ flags = [], backup, append_if_not_found, prepend_if_not_found }) {
    if (flags.some((flag) => !flagNames.includes(flag)))
      return `flags: expected any of ${flagNames.join(", ")}`;
    if (append_if_not_found && prepend_if_not_found) {
      return "give only one of append_if_not_found, prepend_if_not_found";
    }
    return refuseBackup(backup);
  },
  plan(name, args, context) {
    const { pattern, repl, count = 0, flags = ["MULTILINE"] } = args;
    const replace = compileReplacement(
      pattern,
      flags,
      args.backslash_literal === true ? { literal: repl } : { template: repl },
    );
    const addition = args.not_found_content ?? repl;
    // An expression for carriage returns has to see them.
    const isRaw = /\r|\\(?:r|x0d|u000d|015)/i.test(pattern);
    const whenMissing = args.ignore_if_missing === true ? "ignore" : undefined;
    return planEdit({ name, whenMissing, isRaw, ...args }, context, (text) => {
      const { text: replaced, found } = replace(text, count);
      if (found > 0) return replaced;
      if (args.append_if_not_found !== true && args.prepend_if_not_found !== true) return text;
      const line = addition.endsWith("\n") ? addition : `${addition}\n`;
      // Compare without the final line break, so that a last line without one matches too.
      if (`\n${text}\n`.includes(`\n${line}`)) return text;
      if (args.prepend_if_not_found === true) return `${line}${text}`;
      return `${text === "" || text.endsWith("\n") ? text : `${text}\n`}${line}`;
    });
  },
});
