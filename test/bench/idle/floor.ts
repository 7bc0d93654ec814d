import { readFileSync } from "node:fs";
import { connect, credsAuthenticator } from "nats";

// The floor of an idle peel: a program with one connection to the bus, which does nothing.

const [url = "", caFile = "", credentials = ""] = process.argv.slice(2);
await connect({
  servers: url,
  tls: { caFile },
  authenticator: credsAuthenticator(readFileSync(credentials)),
  inboxPrefix: "_INBOX_floor",
});
process.stdout.write("connected\n");
