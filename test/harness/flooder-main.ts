import { connect as connectTcp } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { encodeBase64Url } from "../../internal/base/base64.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import type { FloodCommand, FloodResult } from "./flooder.ts";
import { answerCommands } from "./worker.ts";

// A taken-over peel without a client library: it writes the same bytes again and again, as fast as the server
// takes them, until it is told to stop or the server has ended the connection and refuses it.

let socket: TLSSocket | undefined;
let sent = 0;
let stopping = false;
let ended: number | undefined;
const closed = Promise.withResolvers<void>();

/** Connects by hand: the greeting in plaintext, then TLS, then who we are. */
function open({ port, caPem, credentials, name }: FloodCommand & { kind: "start" }): Promise<TLSSocket> {
  const { key, jwt } = parseCredentials(credentials);
  const nkey = key.publicKey;
  return new Promise((resolve, reject) => {
    const plain = connectTcp(port, "127.0.0.1");
    plain.once("error", reject);
    plain.once("data", (greeting) => {
      const { nonce } = JSON.parse(greeting.toString().slice("INFO ".length)) as { nonce: string };
      const secure = connectTls({ socket: plain, ca: caPem, host: "localhost" });
      secure.once("error", reject);
      secure.once("secureConnect", () => {
        const sig = encodeBase64Url(key.sign(Buffer.from(nonce)));
        const hello = { verbose: false, pedantic: false, lang: "flood", version: "1", protocol: 1 };
        const who = {
          ...hello,
          headers: true,
          no_responders: true,
          tls_required: true,
          name,
          nkey,
          sig,
          jwt,
        };
        secure.write(`CONNECT ${JSON.stringify(who)}\r\nPING\r\n`);
        secure.on("data", (data: Buffer) => {
          const text = data.toString("latin1");
          if (text.startsWith("-ERR 'Auth") || text.includes("-ERR 'User Auth")) reject(new Error(text));
          if (text.includes("PONG")) resolve(secure);
          if (text.includes("PING\r\n")) secure.write("PONG\r\n");
        });
      });
    });
  });
}

function flood(on: TLSSocket, chunk: Buffer, messages: number, minMessages: number): void {
  const write = () => {
    while (!stopping && !on.destroyed && sent < minMessages) {
      sent += messages;
      if (!on.write(chunk)) {
        on.once("drain", write);
        return;
      }
    }
  };
  write();
}

answerCommands(async (command: FloodCommand): Promise<FloodResult> => {
  if (command.kind === "start") {
    const { subjects, payloadBytes, reply, minMessages = Number.POSITIVE_INFINITY } = command;
    socket = await open(command);
    socket.on("close", () => {
      ended ??= systemClock.now();
      closed.resolve();
    });
    socket.on("error", () => {});
    const payload = Buffer.from(command.payload ?? new Uint8Array(payloadBytes).fill(0x80));
    // Enough for one write, and not one message twice when their ids count.
    const messages = Math.max(1, Math.floor(256_000 / (payload.length + 64)));
    const parts = Array.from({ length: messages }, (_, at) => {
      const subject = (subjects[at % subjects.length] ?? "").replace("#", `${at}`);
      const answer = reply === undefined ? "" : `${reply} `;
      return [Buffer.from(`PUB ${subject} ${answer}${payload.length}\r\n`), payload, Buffer.from("\r\n")];
    });
    flood(socket, Buffer.concat(parts.flat()), messages, minMessages);
  } else if (command.kind === "wait") {
    await closed.promise;
  } else {
    stopping = true;
    socket?.destroy();
  }
  return { sent, ended };
});
