import { SvcError } from "../../base/errors.ts";
import { atLine } from "../../base/place.ts";

/** The error of a template that cannot be rendered, with its place. */
export class TemplateError extends SvcError {
  /** The template, or an included one. */
  readonly file: string;
  /** Counted from 1; 0 when unknown. */
  readonly line: number;
  readonly reason: string;
  /** Requested templates that are not loaded. */
  readonly missing: readonly string[];

  constructor(
    file: string,
    line: number,
    reason: string,
    options: { cause?: unknown; missing?: readonly string[] } = {},
  ) {
    super("bad_request", `${atLine(file, line)}: ${reason}`, { cause: options.cause });
    this.file = file;
    this.line = line;
    this.reason = reason;
    this.missing = options.missing ?? [];
  }
}

/** A failure as reported by the engine. */
export interface EngineFailure {
  /** `undefined value`, `syntax error`, `template not found`, … */
  kind: string;
  detail: string;
  file: string;
  line: number;
  /** The affected columns of the line, counted from 0. */
  span: { from: number; length: number } | undefined;
}

/**
 * Parses the engine's message. Uses only the first line and the marker; the rest contains values of
 * variables, which may be secret.
 */
export function readFailure(message: string, name: string): EngineFailure {
  const [first = ""] = message.split("\n", 1);
  const [, what = first, file = name, line = "0"] = /^(.*) \(in (.*):(\d+)\)$/.exec(first) ?? [];
  const [, kind = what, detail = ""] = /^([a-z ]+): (.*)$/.exec(what) ?? [];
  const [, before, marker] = /^ {5}i ( *)(\^+)/m.exec(message) ?? [];
  const span = marker === undefined ? undefined : { from: before?.length ?? 0, length: marker.length };
  return { kind, detail, file, line: Number(line), span };
}

/** Describes a failure for people. */
export function explain({ kind, detail, span }: EngineFailure, sourceLine: string): string {
  switch (kind) {
    case "undefined value":
      return `undefined: ${expressionAt(sourceLine, span)}`;
    case "engine ran out of fuel":
      return "the template exceeds the instruction limit: check for long loops";
    default:
      return detail === "" ? kind : `${kind}: ${detail}`;
  }
}

/** The marked expression with its base: the marker of `a.b` covers only `.b`. */
function expressionAt(line: string, span: EngineFailure["span"]): string {
  if (span === undefined) return line.trim().slice(0, 80);
  const [before = ""] = /[\w.[\]'"-]*$/.exec(line.slice(0, span.from)) ?? [];
  const marked = line.slice(span.from, span.from + span.length);
  return `${before}${marked}`.replace(/^\.|\.$/g, "").slice(0, 80);
}
