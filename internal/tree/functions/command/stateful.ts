import { SvcError } from "../../../base/errors.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { splitWords } from "../../host-functions/mod.ts";

/** What a command says about its changes: `changed=yes comment='two users added'`. */
export interface Said {
  changed: boolean;
  comment?: string;
  /** Everything else that it says, by name. */
  data: Readonly<Record<string, Plain>>;
  /** The output without what was said. */
  rest: string;
}

/** Whether a value of `stateful` makes the output of a command decide about its changes. */
export function isStateful(stateful: Plain | undefined): boolean {
  return stateful === true || Array.isArray(stateful);
}

/** The command that a test run runs instead: `stateful: [{test_name: …}]`. */
export function testNameOf(stateful: Plain | undefined): string | undefined {
  const [first] = Array.isArray(stateful) ? stateful : [];
  const name = isMap(first) ? first.test_name : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}

export function refuseStateful(stateful: Plain | undefined): string | undefined {
  if (stateful === undefined || typeof stateful === "boolean") return undefined;
  if (testNameOf(stateful) !== undefined && Array.isArray(stateful) && stateful.length === 1)
    return undefined;
  return "stateful: expected true, false, or a list with test_name, the command of a test run";
}

/**
 * Reads what a command says, as in Salt: its output as a JSON object, or the last line of its output as
 * `name=value` pairs.
 *
 * @throws SvcError `bad_request` for an output of another form
 */
export function readStateful(stdout: string): Said {
  const { data, rest } = readJson(stdout) ?? readPairs(stdout);
  const { comment, ...others } = data;
  return {
    changed: isTrue(others.changed),
    ...(comment === undefined
      ? {}
      : { comment: typeof comment === "string" ? comment : JSON.stringify(comment) }),
    data: others,
    rest,
  };
}

function readJson(stdout: string): { data: Record<string, Plain>; rest: string } | undefined {
  let data: Plain;
  try {
    data = JSON.parse(stdout);
  } catch {
    return undefined;
  }
  if (!isMap(data)) throw new SvcError("bad_request", "stateful: the JSON of the output is not an object");
  return { data, rest: "" };
}

function readPairs(stdout: string): { data: Record<string, Plain>; rest: string } {
  const lines = stdout.trimEnd().split("\n");
  const last = lines.pop() ?? "";
  const pairs = wordsOf(last).map((word) => word.split("="));
  if (!pairs.every((pair) => pair.length === 2)) throw notPairs();
  return { data: Object.fromEntries(pairs), rest: lines.join("\n") };
}

function wordsOf(line: string): string[] {
  try {
    return splitWords(line);
  } catch {
    throw notPairs();
  }
}

function notPairs(): SvcError {
  return new SvcError(
    "bad_request",
    "stateful: the output is not a JSON object, and its last line is not name=value pairs, such as changed=yes",
  );
}

function isTrue(changed: Plain = "no"): boolean {
  const word = String(changed).toLowerCase();
  if (["true", "yes", "1"].includes(word)) return true;
  if (["false", "no", "0"].includes(word)) return false;
  throw new SvcError("bad_request", `stateful: changed is ${JSON.stringify(changed)}; expected yes or no`);
}
