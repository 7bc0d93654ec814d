import { readFileSync } from "node:fs";
import { connect } from "nats";
import { parseCredentials } from "../../../internal/identity/credentials.ts";
import { answerSubject, requestSubject } from "../../fleet/floor.ts";

// The bare client beside `svc run`: it connects over TLS, asks each peel with a plain message, and ends when the last
// one has answered with another. Arguments: the URL of the bus, its CA, the credentials, the number of peels.

const [url = "", ca = "", credentials = "", count = "0"] = process.argv.slice(2);
const peels = Array.from({ length: Number(count) }, (_, at) => `sim-${`${at}`.padStart(5, "0")}`);
// The library signs in JavaScript, which takes 70 times as long.
const { jwt, key } = parseCredentials(readFileSync(credentials, "utf8"));
const nats = await connect({
  servers: url,
  tls: { ca: readFileSync(ca, "utf8") },
  authenticator: (nonce) => ({
    jwt,
    nkey: key.publicKey,
    sig: Buffer.from(key.sign(Buffer.from(nonce ?? ""))).toString("base64url"),
  }),
});
let open = peels.length;
const all = Promise.withResolvers<void>();
nats.subscribe(answerSubject("*"), {
  callback() {
    if (--open === 0) all.resolve();
  },
});
/** The first byte says that a bare answer is wanted; the rest is as long as a command. */
const question = new Uint8Array(339);
for (const peel of peels) nats.publish(requestSubject(peel), question);
await all.promise;
await nats.drain();
process.stdout.write(`${peels.length} answers\n`);
