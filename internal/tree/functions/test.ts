import { arg } from "../../host/modules/mod.ts";
import { type Changes, type Plan, StateFailure, type StateFunction } from "../function/mod.ts";

const example: Changes = { testing: { old: "unchanged", new: "something pretended to change" } };
const comment = arg.string("Comment of the result.");

const isMap = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The types of settings, as Salt names them. */
const kinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  boolean: (value) => typeof value === "boolean",
  integer: Number.isSafeInteger,
  string: (value) => typeof value === "string",
  listing: Array.isArray,
  dictionary: isMap,
};

/** States that do not change the host, for trying out a tree and for tests. */
export const testStates: readonly StateFunction[] = [
  {
    name: "test.nop",
    doc: "Does nothing and succeeds.",
    args: {},
    plan: () => ({ changes: {}, comment: "Success!" }),
    onWatch: (name) => pretend(`${name} was notified of a change`),
  },
  {
    name: "test.succeed_without_changes",
    doc: "Succeeds without a change.",
    args: { comment },
    plan: (_, args) => ({ changes: {}, comment: textOf(args.comment) ?? "Success!" }),
  },
  {
    name: "test.succeed_with_changes",
    doc: "Succeeds with a change.",
    args: { comment },
    plan: (_, args) => pretend(textOf(args.comment) ?? "Success!"),
  },
  {
    name: "test.fail_without_changes",
    doc: "Fails without a change.",
    args: { comment },
    plan: (_, args) => fail(textOf(args.comment) ?? "Failure!", {}),
  },
  {
    name: "test.fail_with_changes",
    doc: "Fails after a change.",
    args: { comment },
    plan: (_, args) => ({
      ...pretend("Failure!"),
      apply: () => Promise.reject(new StateFailure(textOf(args.comment) ?? "Failure!", example)),
    }),
  },
  {
    name: "test.configurable_test_state",
    doc: "Succeeds or fails as configured.",
    args: {
      changes: arg.boolean("Whether it reports a change; true by default."),
      result: arg.boolean("Whether it succeeds; true by default."),
      comment,
    },
    plan(_, args) {
      const said = textOf(args.comment) ?? "";
      const changes = args.changes === false ? {} : example;
      if (args.result === false) {
        if (args.changes === false) return fail(said, {});
        return { changes, comment: said, apply: () => Promise.reject(new StateFailure(said, changes)) };
      }
      return args.changes === false ? { changes, comment: said } : pretend(said);
    },
    onWatch: (name) => pretend(`${name} was notified of a change`),
  },
  {
    name: "test.show_notification",
    doc: "Shows a text as the comment of its result. Changes nothing.",
    args: { text: arg.string("The text.", { required: true }) },
    plan: (_, args) => ({ changes: {}, comment: textOf(args.text) ?? "" }),
  },
  {
    name: "test.check_pillar",
    doc: "Succeeds if these settings exist and have these types. Changes nothing.",
    args: {
      present: arg.strings("Names of settings of any type, such as tls:key."),
      ...Object.fromEntries(
        Object.keys(kinds).map((kind) => [kind, arg.strings(`Names of settings of the type ${kind}.`)]),
      ),
    },
    plan(_, args, { settings }) {
      const all = (names: unknown) => (Array.isArray(names) ? names.map(String) : []);
      const wrong = [
        ...all(args.present).flatMap((name) =>
          settings.get(name) === undefined ? `${name} does not exist` : [],
        ),
        ...Object.entries(kinds).flatMap(([kind, fits]) =>
          all(args[kind]).flatMap((name) =>
            fits(settings.get(name)) ? [] : `${name} is not of the type ${kind}`,
          ),
        ),
      ];
      return wrong.length === 0
        ? { changes: {}, comment: "the settings are as expected" }
        : fail(wrong.map((each) => `setting ${each}`).join("; "), {});
    },
  },
];

function pretend(said: string): Plan {
  return { changes: example, comment: said, apply: () => Promise.resolve(undefined) };
}

function fail(said: string, changes: Changes): never {
  throw new StateFailure(said, changes);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
