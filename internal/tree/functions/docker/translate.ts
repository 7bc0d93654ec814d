import { quote } from "../../../base/cut.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { StateFailure } from "../../function/mod.ts";
import { isJson, type Json } from "./engine.ts";

/** Texts of a list, or of one text with commas. */
export function textsOf(name: string, value: Plain): string[] {
  if (typeof value === "string")
    return value
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== "");
  if (typeof value === "number") return [String(value)];
  const texts = Array.isArray(value) ? value.map(textOf) : [undefined];
  if (texts.every((each) => each !== undefined)) return texts;
  throw new StateFailure(`${name}: expected a list of texts`);
}

/** A map of a map, of a list of maps, or of a list of `name=value`. */
export function mapOf(name: string, value: Plain): { [key: string]: string } {
  const items = Array.isArray(value) ? value : [value];
  const pairs = items.flatMap((item): [string, string | undefined][] => {
    if (isJson(item)) return Object.entries(item).map(([key, each]) => [key, textOf(each)]);
    const text = textOf(item) ?? "";
    const at = text.indexOf("=");
    return at < 0 ? [[text, ""]] : [[text.slice(0, at), text.slice(at + 1)]];
  });
  if (pairs.some(([key, text]) => key === "" || text === undefined)) {
    throw new StateFailure(`${name}: expected a map of texts, or a list of name=value`);
  }
  return Object.fromEntries(pairs.map(([key, text]) => [key, text ?? ""]));
}

/** The words of a command: a list as it is, a text as a shell splits it; nothing is expanded. */
export function wordsOf(name: string, value: Plain): string[] {
  if (Array.isArray(value)) return textsOf(name, value);
  const text = textOf(value) ?? "";
  const words: string[] = [];
  const token = /(?:[^\s"'\\]+|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+/gy;
  let at = /^\s*/.exec(text)?.[0].length ?? 0;
  while (at < text.length) {
    token.lastIndex = at;
    const found = token.exec(text);
    if (found === null) throw new StateFailure(`${name}: a quote is not closed`);
    words.push(unquoted(found[0]));
    at = token.lastIndex + (/^\s*/.exec(text.slice(token.lastIndex))?.[0].length ?? 0);
  }
  return words;
}

function unquoted(token: string): string {
  return token.replace(
    /\\([\s\S])|"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'/g,
    (_, escaped?: string, double?: string, single?: string) =>
      escaped ?? double?.replace(/\\(["\\$`])/g, "$1") ?? single ?? "",
  );
}

const maxRange = 1_000;

/** `8080:80`, `127.0.0.1:8080:80/tcp`, `80`, `8000-8009:80-89` as the maps that Docker takes. */
export function portsOf(value: Plain): { exposed: Json; bindings: Json } {
  const bindings: { [port: string]: Plain[] } = {};
  for (const written of textsOf("port_bindings", value)) {
    const [, address = "", host = "", port = "", protocol = "tcp"] =
      /^(?:(?:(\[[0-9a-fA-F:.]+\]|[\d.]+):)?(\d*|\d+-\d+):)?(\d+|\d+-\d+)(?:\/(tcp|udp|sctp))?$/.exec(
        written,
      ) ?? [];
    const inside = portRange(port);
    const outside = host === "" ? inside.map(() => "") : portRange(host);
    if (inside.length === 0 || inside.length !== outside.length) {
      throw new StateFailure(`port_bindings: ${quote(written, 60)} is not a port, such as 8080:80/tcp`);
    }
    for (const [at, each] of inside.entries()) {
      const key = `${each}/${protocol}`;
      const binding = { HostIp: address.replace(/[[\]]/g, ""), HostPort: outside[at] ?? "" };
      bindings[key] = [...(bindings[key] ?? []), binding];
    }
  }
  return { exposed: Object.fromEntries(Object.keys(bindings).map((port) => [port, {}])), bindings };
}

/** The ports of `8000-8009`, or of one port; none for what is not a range. */
function portRange(text: string): string[] {
  const [first = 0, last = first] = text.split("-").map(Number);
  if (text === "" || last < first || last > 65_535 || last - first >= maxRange) return [];
  return Array.from({ length: last - first + 1 }, (_, at) => String(first + at));
}

/** `nofile=1024:2048`, or maps with Name, Soft and Hard. */
export function ulimitsOf(value: Plain): Plain[] {
  const items = Array.isArray(value) ? value : textsOf("ulimits", value);
  return items.map((item) => {
    const { Name, Soft, Hard } = isJson(item) ? item : {};
    const written = isJson(item) ? `${Name}=${Soft}:${Hard ?? Soft}` : textOf(item);
    const [, name = "", soft = "", hard = soft] = /^([a-z]+)=(-?\d+)(?::(-?\d+))?$/.exec(written ?? "") ?? [];
    if (name === "") throw new StateFailure("ulimits: expected limits such as nofile=1024:2048");
    return { Name: name, Soft: Number(soft), Hard: Number(hard) };
  });
}

/** `on-failure:5` as Docker takes it. */
export function restartPolicy(value: Plain): Json {
  const [, name = "", count] =
    /^(no|always|unless-stopped|on-failure)(?::(\d+))?$/.exec(textOf(value) ?? "") ?? [];
  if (isJson(value)) return { Name: value.Name ?? "", MaximumRetryCount: value.MaximumRetryCount ?? 0 };
  if (name === "")
    throw new StateFailure("restart_policy: expected no, always, unless-stopped or on-failure:5");
  return { Name: name, MaximumRetryCount: Number(count ?? 0) };
}

function textOf(value: Plain): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : value === null
      ? ""
      : undefined;
}
