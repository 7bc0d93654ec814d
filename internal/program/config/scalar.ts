import * as v from "valibot";
import { formatByteSize, parseByteSize } from "../../base/byte-size.ts";
import { quote } from "../../base/cut.ts";
import * as document from "../../base/document/schemas.ts";
import { kindOf } from "../../base/document/written.ts";
import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { type Address, formatAddress, parseAddress } from "../../base/names/address.ts";
import { suggestion } from "../../base/nearest.ts";
import type { OptionType } from "./option.ts";

/** What is wrong with a text, without repeating a secret; `undefined` for a good one. */
export type ProblemOf = (text: string) => string | undefined;

/** A type whose value is written as one string. */
export function text<T = string>(form: {
  name: string;
  placeholder: string;
  schema: document.Schema<T>;
  format?: (value: T) => string;
}): OptionType<T> {
  const { format = String, ...type } = form;
  return { ...type, format: (value) => quoted(format(value)) };
}

/** A string without a problem. */
export function checked(problemOf: ProblemOf) {
  return v.pipe(v.string(), document.refuse(problemOf));
}

/** The same, or an empty one. */
export function emptyOr(problemOf: ProblemOf) {
  return checked((written) => (written === "" ? undefined : problemOf(written)));
}

const plainForm = /^(?:[a-z/][A-Za-z0-9/._:-]*[A-Za-z0-9/._-]|[a-z/]|(?:\d+\.){3}\d+:\d+)$/;

/** A string in YAML: plain where that is certainly safe, otherwise in double quotes. */
export function quoted(value: string): string {
  return plainForm.test(value) && !["true", "false", "null"].includes(value) ? value : JSON.stringify(value);
}

// A key or token that was pasted instead of a path would be shown wherever paths are shown.
const pastedSecret = /-----BEGIN|^S[A-Z][A-Z2-7]{56}$|^ey[A-Za-z0-9_-]+\.|[\r\n\0]/;
const pathProblem: ProblemOf = (written) =>
  pastedSecret.test(written) ? "expected the path of a file, not its content" : undefined;
const paths = { name: "path", placeholder: "<path>" };

/** The path of a file or directory, or `""` for none. */
export const path = text({ ...paths, schema: checked(pathProblem) });

/** A path that must not be empty. */
export const requiredPath = text({
  ...paths,
  schema: checked((written) =>
    written === "" ? "expected a path, not an empty string" : pathProblem(written),
  ),
});

/** One word of a fixed set. */
export function oneOf<const Word extends string>(words: readonly Word[]): OptionType<Word> {
  const shown = words.map((word) => (word === "" ? '""' : word));
  return text({
    name: shown.join(", "),
    placeholder: `<${words.filter((word) => word !== "").join("|")}>`,
    schema: document.oneOf(
      words,
      (word) => `expected one of ${shown.join(", ")}, not ${quote(word, 40)}${suggestion(word, words)}`,
    ),
  });
}

const shownFlag = (texts: readonly string[]) => quote(texts.at(-1) ?? "", 40);

/** An integer within inclusive bounds. */
export function integer(min: number, max: number): OptionType<number> {
  return {
    name: `${min} to ${max}`,
    placeholder: "<n>",
    schema: document.integer(min, max),
    fromFlag(texts) {
      if (/^\d{1,15}$/.test(texts.at(-1) ?? "")) return Number(texts.at(-1));
      throw new SvcError(
        "bad_request",
        `expected a whole number from ${min} to ${max}, not ${shownFlag(texts)}`,
      );
    },
    format: String,
  };
}

/** `true` or `false`. */
export const bool: OptionType<boolean> = {
  name: "true, false",
  placeholder: "",
  isSwitch: true,
  schema: v.boolean(),
  fromFlag: readSwitch,
  format: String,
};

function readSwitch(texts: readonly string[]): boolean {
  const written = texts.at(-1);
  if (written === "true" || written === "false") return written === "true";
  throw new SvcError("bad_request", `expected true or false, not ${shownFlag(texts)}`);
}

/** `true` or `false`, where `auto` means that it depends. */
export const autoOrBool: OptionType<boolean | "auto"> = {
  ...bool,
  name: "auto, true, false",
  schema: v.union(
    [v.boolean(), v.literal("auto")],
    ({ input }) => `expected auto, true or false, found ${kindOf(input)}`,
  ),
  fromFlag: (texts) => (texts.at(-1) === "auto" ? "auto" : readSwitch(texts)),
  format: String,
};

/** A duration, in milliseconds. */
export function duration(minMs: number, maxMs = Number.POSITIVE_INFINITY): OptionType<number> {
  return {
    name: "duration",
    placeholder: "<duration>",
    schema: document.duration(minMs, maxMs),
    format: formatDuration,
  };
}

/** A number of bytes, at least `min`; the empty text stands for 0, which leaves it to the program. */
export function byteSize(min: number): OptionType<number> {
  return {
    name: "bytes, also with KiB, MiB, GiB",
    placeholder: "<size>",
    schema: v.pipe(
      v.union(
        [v.string(), v.number()],
        ({ input }) => `expected a size such as 512MiB, found ${kindOf(input)}`,
      ),
      document.readBy((written) => (written === "" ? 0 : parseByteSize(String(written)))),
      v.check(
        (bytes) => bytes === 0 || bytes >= min,
        ({ input }) => `expected ${formatByteSize(min)} or more, not ${formatByteSize(input)}`,
      ),
    ),
    format: (bytes) => quoted(bytes === 0 ? "" : formatByteSize(bytes)),
  };
}

/** An address to listen on. */
export const address: OptionType<Address> = text({
  name: "host:port",
  placeholder: "<host:port>",
  schema: v.pipe(
    v.string(),
    document.readBy((written) => {
      const parsed = parseAddress(written);
      if (parsed !== undefined) return parsed;
      throw new SvcError(
        "bad_request",
        "expected host:port, such as 127.0.0.1:8443, [::1]:8443 or :8443 for every address",
      );
    }),
  ),
  format: formatAddress,
});
