import { describeError } from "../../base/errors.ts";
import { readCa, readHeaders } from "./read-files.ts";
import type { TracingConfig } from "./start.ts";

const patienceMs = 5_000;

/**
 * Looks whether the receiver of traces takes what it is sent: it gets a request without spans.
 *
 * @returns what is wrong; `undefined` when nothing is, or there is no receiver
 * @throws SvcError `bad_request` naming the file that cannot be read, or its line
 */
export async function inspectReceiver(config: TracingConfig): Promise<string | undefined> {
  const { "otlp.endpoint": endpoint, "otlp.headers_file": headersFile, "otlp.ca": caFile } = config;
  if (endpoint === "") return undefined;
  const headers = headersFile === "" ? {} : readHeaders(headersFile);
  const ca = caFile === "" ? {} : { ca: readCa(caFile) };
  const url = `${endpoint.replace(/\/+$/, "")}/v1/traces`;
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/x-protobuf" },
      // A message of protobuf without fields is empty.
      body: new Uint8Array(),
      redirect: "manual",
      signal: AbortSignal.timeout(patienceMs),
      tls: { ...ca, rejectUnauthorized: true },
    });
    await answer.body?.cancel();
    if (answer.ok) return undefined;
    if (answer.status === 401 || answer.status === 403) {
      return `${url} answers ${answer.status}: it wants other headers in otlp.headers_file`;
    }
    return `${url} answers ${answer.status}`;
  } catch (thrown) {
    return `${url}: ${describeError(thrown)}`;
  }
}
