import { deflateSync } from "node:zlib";

// A repository whose server never stops sending: git runs it in place of ssh. It speaks version 0 of the protocol of
// git-upload-pack, and has one branch. With `refs` its list of refs does not end either, and with `objects` it announces more than any memory holds.

const id = "1".repeat(40);
const packet = (data: string | Uint8Array) => {
  const bytes = Buffer.from(data as string);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes]);
};
const flush = Buffer.from("0000");
const sideBand = (data: Uint8Array) => packet(Buffer.concat([Buffer.of(1), data]));

async function send(data: Uint8Array): Promise<void> {
  if (process.stdout.write(data)) return;
  await new Promise((resolve) => process.stdout.once("drain", resolve));
}

process.stdout.on("error", () => process.exit(0));
await send(packet(`${id} refs/heads/main\0side-band-64k ofs-delta shallow no-progress\n`));
if (process.env.ENDLESS === "refs") {
  const some = Buffer.concat(
    Array.from({ length: 500 }, (_, i) => packet(`${id} refs/heads/${"x".repeat(80)}${i}\n`)),
  );
  for (;;) await send(some);
}
await send(flush);
// Without its end, which would close the input.
const input = process.stdin[Symbol.asyncIterator]();
let wishes = "";
const receive = async (end: string) => {
  while (!wishes.includes(end)) {
    const { value, done } = await input.next();
    if (done === true) process.exit(1);
    wishes += String(value);
  }
};
await receive("0000");
if (wishes.includes("deepen")) await send(Buffer.concat([packet(`shallow ${id}`), flush]));
await receive("done");
await send(packet("NAK\n"));
// A pack of a million blobs of 32,768 random bytes each, or of more than any memory holds.
const count = process.env.ENDLESS === "objects" ? "\x7f\xff\xff\xff" : "\0\x0f\x42\x40";
const header = Buffer.from(`PACK\0\0\0\x02${count}`, "latin1");
await send(sideBand(header));
for (;;) {
  const content = deflateSync(crypto.getRandomValues(new Uint8Array(32_768)), { level: 0 });
  // Type blob and the size, four and then seven bits at a time.
  await send(sideBand(Buffer.concat([Buffer.of(0xb0, 0x80, 0x10), content])));
}
