import protobuf from "protobufjs";
import { until } from "./until.ts";

/**
 * The messages of OTLP that are read here, with the names and numbers of opentelemetry-proto 1.x
 * (opentelemetry/proto/collector/trace/v1, .../trace/v1, .../common/v1, .../resource/v1).
 */
const proto = `
syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
message Status { string message = 2; int32 code = 3; }
message Span {
  bytes trace_id = 1;
  bytes span_id = 2;
  bytes parent_span_id = 4;
  string name = 5;
  int32 kind = 6;
  fixed64 start_time_unix_nano = 7;
  fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9;
  Status status = 15;
}
`;
const exportRequest = protobuf.parse(proto, { keepCase: false }).root.lookupType("ExportTraceServiceRequest");

/** A span as it arrived. */
export interface ReceivedSpan {
  service: string;
  trace: string;
  id: string;
  parent: string;
  name: string;
  kind: number;
  ms: number;
  failed: boolean;
  attributes: Record<string, unknown>;
}

export interface TraceReceiver extends AsyncDisposable {
  /** For `otlp.endpoint`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The headers of the last request. */
  readonly headers: Headers | undefined;
  /** What it answers; 200 unless changed. */
  status: number;
  /** Resolves with the spans of a trace as soon as there are as many. */
  trace(id: string, count: number): Promise<ReceivedSpan[]>;
}

/** Receives traces by OTLP over HTTP, on a port of its own. @param tls its certificate, for https */
export function startTraceReceiver(tls?: { cert: string; key: string }): TraceReceiver {
  const spans: ReceivedSpan[] = [];
  let headers: Headers | undefined;
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    ...(tls === undefined ? {} : { tls }),
    async fetch(request) {
      headers = request.headers;
      const isTraces = new URL(request.url).pathname === "/v1/traces" && request.method === "POST";
      if (!isTraces || headers.get("content-type") !== "application/x-protobuf") {
        return new Response("", { status: 400 });
      }
      const body = new Uint8Array(await request.arrayBuffer());
      if (receiver.status === 200) spans.push(...decode(body));
      return new Response(new Uint8Array(), {
        status: receiver.status,
        headers: { "content-type": "application/x-protobuf" },
      });
    },
  });
  const receiver: TraceReceiver = {
    url: `${tls === undefined ? "http" : "https"}://localhost:${server.port}`,
    spans,
    get headers() {
      return headers;
    },
    status: 200,
    trace: (id, count) =>
      until(
        () => spans.filter(({ trace }) => trace === id),
        (found) => found.length >= count,
      ),
    [Symbol.asyncDispose]: () => server.stop(true),
  };
  return receiver;
}

interface Wire {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: {
        traceId: Uint8Array;
        spanId: Uint8Array;
        parentSpanId: Uint8Array;
        name: string;
        kind: number;
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes: Attribute[];
        status?: { code: number };
      }[];
    }[];
  }[];
}
interface Attribute {
  key: string;
  value: Record<string, unknown>;
}

function decode(body: Uint8Array): ReceivedSpan[] {
  const wire = exportRequest.toObject(exportRequest.decode(body), { longs: String, arrays: true }) as Wire;
  return wire.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        service: String(plainOf(resource.attributes)["service.name"]),
        trace: Buffer.from(span.traceId).toString("hex"),
        id: Buffer.from(span.spanId).toString("hex"),
        parent: Buffer.from(span.parentSpanId ?? []).toString("hex"),
        name: span.name,
        kind: span.kind,
        ms: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
        failed: span.status?.code === 2,
        attributes: plainOf(span.attributes),
      })),
    ),
  );
}

function plainOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [kind, found] = Object.entries(value)[0] ?? [];
      return [key, kind === "intValue" ? Number(found) : found];
    }),
  );
}
