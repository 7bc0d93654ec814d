import { systemClock } from "../../../internal/base/clock.ts";
import { createLog } from "../../../internal/base/log.ts";
import { serveHttps } from "../../../internal/doors/rest/serve.ts";
import { type Certificate, limitsFor } from "../../../internal/doors/sockets/mod.ts";

// The listener's server with a trivial handler, in a process of its own. Each line on standard input is
// a certificate to serve from then on, as JSON.

const lines = linesOfInput();
const first = JSON.parse((await lines.next()).value ?? "{}") as Certificate;
const server = await serveHttps({
  host: "127.0.0.1",
  port: 0,
  certificate: first,
  handle: async () => new Response("{}", { headers: { "Content-Length": "2" } }),
  malformed: (status) => new Response(null, { status }),
  networks: [{ name: "bench", cidr: [{ bytes: Uint8Array.of(127, 0, 0, 0), bits: 8 }], connections: 1_000 }],
  limits: limitsFor(),
  onClosed() {},
  clock: systemClock,
  log: createLog({
    level: "error",
    format: "text",
    clock: systemClock,
    write: (line) => process.stderr.write(line),
  }),
});
process.stdout.write(`${server.port}\n`);
for await (const line of lines) server.setCertificate(JSON.parse(line) as Certificate);
await server.stop();

async function* linesOfInput(): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of process.stdin) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}
