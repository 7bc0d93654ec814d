import { writeSync } from "node:fs";
import { openDatagramSocket } from "./datagram-socket.ts";

// Stands in for a service manager, in a process of its own because it blocks: writes each message that a
// service sends, one line each.

const [, , address = ""] = process.argv;
using socket = openDatagramSocket(address);
writeSync(1, "listening\n");
for (;;) writeSync(1, `told ${JSON.stringify(socket.receive())}\n`);
