import { type Address, formatAddress, parseAddress } from "../../base/address.ts";
import { formatByteSize, parseByteSize } from "../../base/byte-size.ts";
import { formatDuration, parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { kindOf, type YamlNode } from "../../base/yaml.ts";
import { Complaint, type OptionType } from "./option.ts";

/** Reads one text: returns the value, or throws a `Complaint` that does not repeat a secret. */
export type ReadText<T> = (text: string) => T;

/** A type whose value is written as one string. */
export function text<T = string>(form: {
  name: string;
  placeholder: string;
  read: ReadText<T>;
  format?: (value: T) => string;
}): OptionType<T> {
  const { name, placeholder, read, format = String } = form;
  return {
    name,
    placeholder,
    fromYaml: (node) => read(stringOf(node)),
    fromFlag: (texts) => read(texts.at(-1) ?? ""),
    format: (value) => quoted(format(value)),
  };
}

const plainForm = /^(?:[a-z/][A-Za-z0-9/._:-]*[A-Za-z0-9/._-]|[a-z/]|(?:\d+\.){3}\d+:\d+)$/;

/** A string in YAML: plain where that is certainly safe, otherwise in double quotes. */
export function quoted(value: string): string {
  return plainForm.test(value) && !["true", "false", "null"].includes(value) ? value : JSON.stringify(value);
}

/** The string of a node. */
export function stringOf(node: YamlNode): string {
  if (node.kind === "scalar" && typeof node.value === "string") return node.value;
  if (node.kind === "scalar" && node.value !== null) {
    throw new Complaint(`expected a string, found ${kindOf(node)}: put it in quotes`, node.at);
  }
  throw new Complaint(`expected a string, found ${kindOf(node)}`, node.at);
}

// A key or token that was pasted instead of a path would be shown wherever paths are shown.
const pastedSecret = /-----BEGIN|^S[A-Z][A-Z2-7]{56}$|^ey[A-Za-z0-9_-]+\.|[\r\n\0]/;

/** The path of a file or directory, or `""` for none. */
export const path: OptionType<string> = text({ name: "path", placeholder: "<path>", read: readPath });

/** Reads a path. @throws Complaint when the text cannot be a path; the text is not repeated */
function readPath(value: string): string {
  if (pastedSecret.test(value)) throw new Complaint("expected the path of a file, not its content");
  return value;
}

/** A path that must not be empty. */
export const requiredPath: OptionType<string> = text({
  name: "path",
  placeholder: "<path>",
  read: (value) => {
    if (value === "") throw new Complaint("expected a path, not an empty string");
    return readPath(value);
  },
});

/** One word of a fixed set. */
export function oneOf<const Word extends string>(words: readonly Word[]): OptionType<Word> {
  const shown = words.map((word) => (word === "" ? '""' : word));
  return text({
    name: shown.join(", "),
    placeholder: `<${words.filter((word) => word !== "").join("|")}>`,
    read: (value) => {
      const found = words.find((word) => word === value);
      if (found !== undefined) return found;
      throw new Complaint(
        `expected one of ${shown.join(", ")}, not ${JSON.stringify(value.slice(0, 40))}${suggestion(value, words)}`,
      );
    },
  });
}

/** An integer within inclusive bounds. */
export function integer(min: number, max: number): OptionType<number> {
  const expected = `expected a whole number from ${min} to ${max}`;
  const check = (value: number): number => {
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new Complaint(`${expected}, not ${value}`);
  };
  return {
    name: `${min} to ${max}`,
    placeholder: "<n>",
    fromYaml: (node) => {
      if (node.kind === "scalar" && typeof node.value === "number") return check(node.value);
      throw new Complaint(`${expected}, found ${kindOf(node)}`, node.at);
    },
    fromFlag: (texts) => {
      const value = texts.at(-1) ?? "";
      if (!/^\d{1,15}$/.test(value)) {
        throw new Complaint(`${expected}, not ${JSON.stringify(value.slice(0, 40))}`);
      }
      return check(Number(value));
    },
    format: String,
  };
}

/** `true` or `false`. */
export const bool: OptionType<boolean> = {
  name: "true, false",
  placeholder: "",
  isSwitch: true,
  fromYaml: (node) => {
    if (node.kind === "scalar" && typeof node.value === "boolean") return node.value;
    throw new Complaint(`expected true or false, found ${kindOf(node)}`, node.at);
  },
  fromFlag: (texts) => {
    const value = texts.at(-1) ?? "";
    if (value === "true" || value === "false") return value === "true";
    throw new Complaint(`expected true or false, not ${JSON.stringify(value.slice(0, 40))}`);
  },
  format: String,
};

/** `true` or `false`, where `auto` means that it depends. */
export const autoOrBool: OptionType<boolean | "auto"> = {
  ...bool,
  name: "auto, true, false",
  fromYaml: (node) => {
    if (node.kind === "scalar" && (typeof node.value === "boolean" || node.value === "auto"))
      return node.value;
    throw new Complaint(`expected auto, true or false, found ${kindOf(node)}`, node.at);
  },
  fromFlag: (texts) => (texts.at(-1) === "auto" ? "auto" : bool.fromFlag(texts)),
  format: String,
};

/** A duration, in milliseconds. */
export function duration(minMs: number, maxMs = Number.POSITIVE_INFINITY): OptionType<number> {
  const read = (value: string): number => {
    const ms = readDuration(value);
    if (ms < minMs) throw new Complaint(`expected ${formatDuration(minMs)} or longer`);
    if (ms > maxMs) throw new Complaint(`expected ${formatDuration(maxMs)} or shorter`);
    return ms;
  };
  return {
    name: "duration",
    placeholder: "<duration>",
    fromYaml: (node) => {
      if (node.kind === "scalar" && typeof node.value === "number") return read(String(node.value));
      if (node.kind === "scalar" && typeof node.value === "string") return read(node.value);
      throw new Complaint(`expected a duration such as 90s or 1h30m, found ${kindOf(node)}`, node.at);
    },
    fromFlag: (texts) => read(texts.at(-1) ?? ""),
    format: formatDuration,
  };
}

function readDuration(value: string): number {
  try {
    return parseDuration(value);
  } catch (cause) {
    throw new Complaint(cause instanceof SvcError ? cause.message : "not a duration");
  }
}

/** A number of bytes, at least `min`; the empty text stands for 0, which leaves it to the program. */
export function byteSize(min: number): OptionType<number> {
  const read = (value: string): number => {
    if (value === "") return 0;
    const bytes = readByteSize(value);
    if (bytes >= min) return bytes;
    throw new Complaint(`expected ${formatByteSize(min)} or more, not ${value.slice(0, 40)}`);
  };
  return {
    name: "bytes, also with KiB, MiB, GiB",
    placeholder: "<size>",
    fromYaml: (node) => {
      if (node.kind === "scalar" && typeof node.value === "number") return read(String(node.value));
      if (node.kind === "scalar" && typeof node.value === "string") return read(node.value);
      throw new Complaint(`expected a size such as 512MiB, found ${kindOf(node)}`, node.at);
    },
    fromFlag: (texts) => read(texts.at(-1) ?? ""),
    format: (bytes) => quoted(bytes === 0 ? "" : formatByteSize(bytes)),
  };
}

function readByteSize(value: string): number {
  try {
    return parseByteSize(value);
  } catch (cause) {
    throw new Complaint(cause instanceof SvcError ? cause.message : "not a size");
  }
}

/** An address to listen on. */
export const address: OptionType<Address> = text({
  name: "host:port",
  placeholder: "<host:port>",
  read: (value) => {
    const parsed = parseAddress(value);
    if (parsed !== undefined) return parsed;
    throw new Complaint("expected host:port, such as 127.0.0.1:8443, [::1]:8443 or :8443 for every address");
  },
  format: formatAddress,
});
