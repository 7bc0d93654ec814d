/** What is said about a span. Never a secret, and no argument of a function. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  /** Whether it answers another program, asks one, or neither (default). */
  kind?: "server" | "client" | "producer" | "consumer" | "internal";
  attributes?: SpanAttributes;
  /** When it began, milliseconds since the Unix epoch; now unless given. */
  startedAt?: number;
}

/** A piece of work of a trace, such as a request, or a job on one peel. */
export interface Span {
  /** Carries the trace to other programs (W3C Trace Context); absent when there is no trace. */
  readonly traceparent?: string;
  /** Begins a part of it. */
  begin(name: string, options?: SpanOptions): Span;
  set(attributes: SpanAttributes): void;
  /** Ends it, once. @param failure the kind of the error; absent when it went well */
  end(failure?: string): void;
}

/** Begins the spans of one program. */
export interface Tracer {
  /** @param options.parent the `traceparent` of what asked for it; absent begins a trace */
  begin(name: string, options?: SpanOptions & { parent?: string }): Span;
}

/** Records nothing, and carries the trace of others on. */
export const untraced: Tracer = {
  begin: (_, { parent } = {}) => passing(parent),
};

function passing(traceparent: string | undefined): Span {
  const span: Span = {
    ...(traceparent === undefined ? {} : { traceparent }),
    begin: () => span,
    set: () => {},
    end: () => {},
  };
  return span;
}

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?=$|-)/;
const length = 55;

/**
 * Reads a `traceparent`. What is not one counts as absent, as W3C Trace Context says. A later version may have more
 * behind what this one knows.
 */
export function traceparentOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > 512 || !form.test(value)) return undefined;
  if (value.startsWith("00-") && value.length !== length) return undefined;
  return `00${value.slice(2, length)}`;
}
